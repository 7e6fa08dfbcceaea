"""The main job: plan, run (journalled, resumable), findings."""
