"use strict";

// Figures: drawn from the data beside them, in the colours of the page.
const NARROW = 560;
const PAPER = { width: 660, share: 0.62, margins: 60, row: 17, title: 12 };
const plots = [...document.querySelectorAll(".plot")];
const dark = matchMedia("(prefers-color-scheme: dark)");
const inkOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Shorter names and fewer ticks where there is little room.
const fitted = (layout, width) => ({
  "font.color": inkOf("--soft"),
  "xaxis.title.font.size": width < NARROW ? 10 : 14,
  "yaxis.title.font.size": width < NARROW ? 11 : 14,
  ...(layout.meta ? layout.meta[width < NARROW ? "narrow" : "wide"] : {}),
});
const put = (layout, path, value) => {
  const names = path.split(".");
  const last = names.pop();
  names.reduce((inner, name) => (inner[name] ??= {}), layout)[last] = value;
};
const draw = (holder) => {
  const { data, layout } = JSON.parse(document.getElementById(holder.dataset.figure).textContent);
  layout.autosize = true;
  layout.dragmode = false;
  for (const [path, value] of Object.entries(fitted(layout, holder.clientWidth))) put(layout, path, value);
  Plotly.newPlot(holder, data, layout, { displayModeBar: false });
  holder.drawnWidth = holder.clientWidth;
};

// The first figure is there when the page is; the others follow one by one, so that the page can be read meanwhile.
const waiting = [...plots];
const drawNext = () => {
  if (waiting.length) draw(waiting.shift());
  if (waiting.length) setTimeout(drawNext);
  else document.documentElement.dataset.figures = "drawn";
};
drawNext();
const drawn = () => plots.slice(0, plots.length - waiting.length);
const refit = (holder) => {
  holder.drawnWidth = holder.clientWidth;
  Plotly.relayout(holder, fitted(holder.layout, holder.clientWidth));
};
const redraw = () => drawn().forEach(refit);
dark.addEventListener("change", redraw);

// Figures in view are drawn anew in the frame in which their width changes, the others when it rests.
let printing = false;
let resized;
const inView = (holder) => {
  const box = holder.getBoundingClientRect();
  return box.bottom > 0 && box.top < innerHeight;
};
const outgrown = (holder) => !printing && holder.clientWidth > 0 && holder.drawnWidth !== holder.clientWidth;
const widths = new ResizeObserver(() => {
  const wrong = drawn().filter(outgrown);
  wrong.filter(inView).forEach(refit);
  clearTimeout(resized);
  if (wrong.length) resized = setTimeout(() => drawn().filter(outgrown).forEach(refit), 150);
});
for (const holder of plots) widths.observe(holder);

// On paper figures have the width of a page and dark ink, and nothing is folded away.
let folded = [];
addEventListener("beforeprint", () => {
  printing = true;
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const each of folded) each.open = true;
  while (waiting.length) draw(waiting.shift());
  for (const holder of plots) {
    const change = { ...fitted(holder.layout, PAPER.width), autosize: false, width: PAPER.width, "font.color": "#333" };
    change["xaxis.title.font.size"] = change["yaxis.title.font.size"] = PAPER.title;
    // Less high than on a screen, but pictures with a row for each name need room for all of them.
    const rows = holder.layout.yaxis.tickvals?.length ?? 0;
    change.height = Math.round(Math.max(PAPER.share * holder.layout.height, PAPER.margins + PAPER.row * rows));
    Plotly.relayout(holder, change);
    holder.screenHeight = holder.style.height;
    holder.style.height = "auto";
  }
});
addEventListener("afterprint", () => {
  printing = false;
  for (const each of folded) each.open = false;
  for (const holder of plots) {
    holder.style.height = holder.screenHeight;
    Plotly.relayout(holder, { width: null, height: Number.parseFloat(holder.screenHeight), autosize: true });
  }
  redraw();
});

// A table that goes on beyond its frame fades out on that side.
const fade = (frame) => {
  frame.classList.toggle("more-right", frame.scrollLeft + frame.clientWidth < frame.scrollWidth - 1);
  frame.classList.toggle("more-below", frame.scrollTop + frame.clientHeight < frame.scrollHeight - 1);
};
const frames = new ResizeObserver((changed) => {
  for (const { target } of changed) fade(target.closest(".scroll"));
});
for (const frame of document.querySelectorAll(".scroll")) {
  frames.observe(frame);
  frames.observe(frame.firstElementChild);
  frame.addEventListener("scroll", () => fade(frame), { passive: true });
}

// Tables: headings sort, cells without a value come last either way.
const languageOrder = new Intl.Collator(undefined, { numeric: true });
const valueOf = (row, place, kind) => {
  const cell = row.cells[place];
  const text = cell.dataset.value ?? cell.textContent.trim();
  return kind === "number" && text !== "" ? Number(text) : text;
};
const sortBy = (table, place, order) => {
  const { kind } = table.tHead.rows[0].cells[place].dataset;
  const sign = order === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, place, kind), row]);
  rows.sort(([a], [b]) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return sign * (kind === "number" ? a - b : languageOrder.compare(a, b));
  });
  table.tBodies[0].append(...rows.map(([, row]) => row));
};
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, place) => {
    const button = heading.querySelector("button");
    const how = document.getElementById(button.getAttribute("aria-describedby")).textContent;
    for (const row of table.tBodies[0].rows) {
      const clipped = row.cells[place].querySelector(".name");
      row.cells[place].title = clipped && clipped.textContent.length > 60 ? clipped.textContent : how;
    }
    button.addEventListener("click", () => {
      const now = heading.getAttribute("aria-sort");
      const first = heading.dataset.kind === "number" && place > 0 ? "descending" : "ascending";
      const order = now === "none" ? first : now === "ascending" ? "descending" : "ascending";
      for (const other of headings) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", order);
      sortBy(table, place, order);
    });
  });
}

const filter = document.getElementById("filter");
const onlyChosen = document.getElementById("only-chosen");
const rows = [...document.getElementById("columns").tBodies[0].rows];
const words = rows.map((row) => `${row.cells[1].textContent}\n${row.cells[7]?.textContent ?? ""}`.toLocaleLowerCase());
const refresh = () => {
  const wanted = filter.value.trim().toLocaleLowerCase();
  let n = 0;
  rows.forEach((row, place) => {
    const fits = words[place].includes(wanted) && (!onlyChosen.checked || row.classList.contains("chosen"));
    row.hidden = !fits;
    n += fits;
  });
  document.getElementById("shown").textContent = n < rows.length ? `${n} of ${rows.length} shown` : `${n} shown`;
};
filter.addEventListener("input", refresh);
onlyChosen.addEventListener("change", refresh);
refresh();

// How a number was obtained: beside it on hover and focus, within the window, gone with Escape.
const tip = document.getElementById("tip");
let asked = null;
let leaving;
const hide = () => {
  clearTimeout(leaving);
  asked = null;
  tip.hidden = true;
};
const place = () => {
  const box = asked.getBoundingClientRect();
  const left = Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
  const below = box.bottom + 8;
  const fits = below + tip.offsetHeight < innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${fits ? below : Math.max(8, box.top - tip.offsetHeight - 8)}px`;
  if (box.bottom < 0 || box.top > innerHeight) hide();
};
const show = (element) => {
  clearTimeout(leaving);
  asked = element;
  tip.textContent = document.getElementById(element.getAttribute("aria-describedby")).textContent;
  tip.hidden = false;
  place();
};
const leave = () => {
  clearTimeout(leaving);
  leaving = setTimeout(hide, 200);
};
for (const element of document.querySelectorAll("button[aria-describedby]")) {
  element.addEventListener("pointerenter", () => show(element));
  element.addEventListener("pointerleave", leave);
  element.addEventListener("focus", () => element.matches(":focus-visible") && show(element));
  element.addEventListener("blur", hide);
  if (element.matches(".how, .number")) element.addEventListener("click", () => show(element));
}
tip.addEventListener("pointerenter", () => clearTimeout(leaving));
tip.addEventListener("pointerleave", leave);
addEventListener("keydown", (event) => event.key === "Escape" && hide());
addEventListener("scroll", () => asked && place(), { passive: true });

// Copy code and references; where a page may not use the clipboard, they are selected instead.
for (const button of document.querySelectorAll("button.copy")) {
  const source = document.getElementById(button.dataset.copies);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected: press Ctrl+C";
    }
  });
}
