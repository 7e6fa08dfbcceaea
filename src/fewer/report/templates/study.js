"use strict";

// Figures: drawn from the data beside them, in the colours of the page.
const NARROW = 560;
const PAPER = { width: 660, height: 180, margins: 60, row: 17 };
const plots = [...document.querySelectorAll(".plot")];
const dark = matchMedia("(prefers-color-scheme: dark)");
const inkOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Shorter names and fewer ticks where there is little room.
const fitted = (layout, width) => ({
  "font.color": inkOf("--soft"),
  "xaxis.title.font.size": width < NARROW ? 10 : 14,
  ...(layout.meta ? layout.meta[width < NARROW ? "narrow" : "wide"] : {}),
});
for (const holder of plots) {
  const figure = JSON.parse(document.getElementById(holder.dataset.figure).textContent);
  const { layout } = figure;
  layout.autosize = true;
  layout.dragmode = false;
  Plotly.newPlot(holder, figure.data, layout, { responsive: true, displayModeBar: false });
  Plotly.relayout(holder, fitted(layout, holder.clientWidth));
}
const redraw = () => {
  for (const holder of plots) Plotly.relayout(holder, fitted(holder.layout, holder.clientWidth));
};
dark.addEventListener("change", redraw);
let resized;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(redraw, 150);
});

// On paper figures have the width of a page and dark ink, and nothing is folded away.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const each of folded) each.open = true;
  for (const holder of plots) {
    const change = { ...fitted(holder.layout, PAPER.width), autosize: false, width: PAPER.width, "font.color": "#333" };
    // Pictures with a row for each name need room for all of them.
    const names = holder.layout.yaxis.tickvals;
    change.height = names ? PAPER.margins + PAPER.row * names.length : PAPER.height;
    Plotly.relayout(holder, change);
    holder.screenHeight = holder.style.height;
    holder.style.height = "auto";
  }
});
addEventListener("afterprint", () => {
  for (const each of folded) each.open = false;
  for (const holder of plots) {
    holder.style.height = holder.screenHeight;
    Plotly.relayout(holder, { width: null, height: Number.parseFloat(holder.screenHeight), autosize: true });
  }
  redraw();
});

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
