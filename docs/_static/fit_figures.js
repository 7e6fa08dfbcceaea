// Figures are drawn before the page has its final width; once it has, let them fit themselves into it.
window.addEventListener("load", () => window.dispatchEvent(new Event("resize")));
