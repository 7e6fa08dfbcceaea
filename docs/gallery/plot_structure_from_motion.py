"""
Shape and motion from incomplete tracks of points
=================================================

Points on a thing that turns before a camera leave tracks: two image coordinates in every frame. The table of all tracks
has rank 4, whatever the shape, so a factorisation finds both the shape and the motion; and it goes on to do so when
most points are hidden some of the time, when some are measured badly, and when frames are lost altogether.

:class:`~fewer.complete.WeightedFactorization` weighs every entry by its noise, ties rows together in time, and takes
what is known of the factors beforehand. :class:`~fewer.complete.SubspaceSegmentation` finds which points belong
together when several objects move. :func:`~fewer.complete.metric_upgrade` makes angles and lengths right. None of it is
about cameras only: use it for any table whose entries differ in how far they can be trusted, or whose rows follow each
other in time. For one with equal noise and no order, :class:`~fewer.complete.PCAMissing` is simpler.
"""

# %%
# A spiral on a cylinder, 160 points, turns by 5 degrees a frame and nods a little. Half of all coordinates are missing,
# and the rest has noise.
import warnings

import matplotlib.pyplot as plt
import numpy as np

from fewer.complete import SubspaceSegmentation, WeightedFactorization, metric_upgrade

rng = np.random.default_rng(0)
n_points, n_frames = 160, 30
around = np.linspace(0, 6 * np.pi, n_points)
points = np.vstack([np.cos(around), np.linspace(-1, 1, n_points), np.sin(around)])
turn, nod = np.deg2rad(5) * np.arange(n_frames), 0.35 * np.sin(np.arange(n_frames) / 5)
across = np.column_stack([np.cos(turn), 0 * turn, np.sin(turn)])
up = np.column_stack([np.sin(turn) * np.sin(nod), np.cos(nod), -np.cos(turn) * np.sin(nod)])
clean = np.vstack([across, up]) @ points
tracks = clean + 0.05 * rng.normal(size=clean.shape)
tracks[rng.random(tracks.shape) < 0.5] = np.nan
lost = np.array([11, 12, 21])
tracks[np.concatenate([lost, n_frames + lost])] = np.nan

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # three frames are empty on purpose
    model = WeightedFactorization(4, affine=True, n_coordinates=2, temporal="second_order").fit(tracks)
found = metric_upgrade(model.scores_[:, :3], model.components_[:3])


def turned_to(reference, shape):
    """The same points in the reference's position: what is open after the upgrade is a rotation or a mirror."""
    shape, reference = shape - shape.mean(axis=1, keepdims=True), reference - reference.mean(axis=1, keepdims=True)
    U, _, Vt = np.linalg.svd(reference @ shape.T)
    return U @ Vt @ shape


figure = plt.figure(figsize=(9.5, 3.6))
left = figure.add_subplot(1, 3, 1)
left.imshow(tracks, aspect="auto", cmap="coolwarm", interpolation="nearest")
left.set(xlabel="point", ylabel="frame, across and then up")
left.set_title("what is seen", fontsize=10, loc="left")
shapes = {"the truth": points, "found": turned_to(points, found.shape)}
for place, (title, shape) in enumerate(shapes.items(), start=2):
    panel = figure.add_subplot(1, 3, place, projection="3d")
    panel.scatter(shape[0], shape[2], shape[1], c=around, cmap="viridis", s=8)
    panel.plot(shape[0], shape[2], shape[1], color="grey", linewidth=0.4)
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_box_aspect((1, 1, 1))
    panel.set(xticklabels=[], yticklabels=[], zticklabels=[])
    panel.view_init(elev=22, azim=-60)
figure.tight_layout()
gap = np.linalg.norm(shapes["found"] - points) / np.linalg.norm(points)
print(f"right angles and lengths: {found.metric}; the shape is off by {gap:.1%} of its size")

# %%
# Three frames were lost altogether. Without time there is nothing to fill them with but the prior; with it, the motion
# before and after shows where the points were.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    static = WeightedFactorization(4, affine=True, n_coordinates=2).fit(tracks)
figure, panel = plt.subplots(figsize=(8, 3))
point = 20
for name, fitted, colour in (("with time", model, "#cf5f47"), ("without", static, "#2f7fb5")):
    panel.plot(fitted.reconstruct(fitted.scores_)[:n_frames, point], color=colour, label=name, linewidth=1.2)
panel.plot(clean[:n_frames, point], color="black", linewidth=0.6, label="truth")
panel.plot(tracks[:n_frames, point], ".", color="grey", label="seen")
for frame in lost:
    panel.axvspan(frame - 0.5, frame + 0.5, color="#d99a2b", alpha=0.2, linewidth=0)
panel.set(xlabel="frame (lost ones are shaded)", ylabel="across")
panel.set_title("one point's track", fontsize=10, loc="left")
panel.legend(frameon=False, fontsize=8, ncols=4)
figure.tight_layout()

# %%
# Two things that turn about different axes, and pass before each other: each point is put into the subspace where it
# leaves the least error. The table as a whole has rank 8, which nobody had to say.
cube = rng.uniform(-1, 1, size=(3, 80))
cube[rng.integers(0, 3, 80), np.arange(80)] = rng.choice([-1.0, 1.0], 80)
spin = np.deg2rad(6) * np.arange(n_frames)
still = 0 * spin
beside = np.vstack([np.column_stack([still + 1, still, still]), np.column_stack([still, np.cos(spin), np.sin(spin)])])
both = np.hstack([clean, beside @ cube + np.repeat([[0.8], [0.0]], n_frames, axis=0)])
both += 0.05 * rng.normal(size=both.shape)
both[rng.random(both.shape) < 0.3] = np.nan
parts = SubspaceSegmentation(n_clusters=2, subspace_dim=4, random_state=0).fit(both)
truth = np.repeat([0, 1], [n_points, 80])
labels = parts.labels_ if (parts.labels_ == truth).mean() > 0.5 else 1 - parts.labels_
figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), sharex=True, sharey=True)
filled = parts.reconstruct(parts.scores_)
for panel, frame in zip(panels, (0, 25), strict=True):
    for label, colour in ((0, "#2f7fb5"), (1, "#cf5f47")):
        panel.scatter(filled[frame, labels == label], filled[n_frames + frame, labels == label], s=8, color=colour)
    panel.set_title(f"frame {frame}", fontsize=10, loc="left")
    panel.set_aspect("equal")
figure.tight_layout()
print(f"{int((labels != truth).sum())} of {len(truth)} points put to the wrong thing")
