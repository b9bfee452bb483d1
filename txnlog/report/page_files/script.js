"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const tables = JSON.parse(document.getElementById("rows").textContent);
  const root = document.documentElement;

  // --- charts: drawn when they come into sight, in the colours of the page
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // On a phone the number of a line is enough: the table beside has the name.
  const shortened = (name) => (name.match(/^<b>\d+<\/b>/) ?? [name])[0];

  function themed(layout) {
    const narrow = window.innerWidth < 640;
    const ink = colour("--ink");
    const paper = colour("--card");
    return {
      ...layout,
      xaxis: narrow ? { ...layout.xaxis, nticks: 2 } : layout.xaxis,
      yaxis: narrow ? { ...layout.yaxis, ticktext: layout.yaxis.ticktext?.map(shortened) } : layout.yaxis,
      paper_bgcolor: paper,
      font: { ...layout.font, color: ink, size: narrow ? 11 : 13 },
      hoverlabel: { ...layout.hoverlabel, bgcolor: colour("--soft"), bordercolor: ink, font: { color: ink } },
    };
  }

  function draw(place) {
    const figure = figures[place.dataset.figure];
    if (!figure) return;
    // What a closed <details> holds has a place, and is not seen.
    if (!(place.checkVisibility?.() ?? place.offsetParent !== null)) {
      // It is hidden: what it shows is out of date once it is seen again.
      delete place.dataset.drawn;
      return;
    }
    const options = { displayModeBar: false, responsive: true, scrollZoom: false };
    Plotly.react(place, figure.data, themed(figure.layout), options);
    place.dataset.drawn = "yes";
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && !entry.target.dataset.drawn) draw(entry.target);
    }
  }, { rootMargin: "300px" });
  const charts = [...document.querySelectorAll(".chart")];
  for (const place of charts) {
    const figure = figures[place.dataset.figure];
    if (figure) place.style.minHeight = `${figure.layout.height}px`;
    seen.observe(place);
  }
  const redraw = () => charts.filter((place) => place.dataset.drawn).forEach(draw);

  for (const choice of document.getElementsByName("theme")) {
    choice.addEventListener("change", () => {
      root.dataset.theme = choice.value;
      redraw();
    });
  }
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  for (const choice of document.getElementsByName("axis")) {
    choice.addEventListener("change", () => {
      document.body.dataset.axis = choice.value;
      redraw();
    });
  }

  // --- links to a partition open it
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  }
  window.addEventListener("hashchange", openTarget);
  openTarget();

  // --- tables: all rows are in the page, a page at a time on the screen
  const NONE = "—";
  const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const UNITS = [["d", 86400000], ["h", 3600000], ["min", 60000], ["s", 1000]];

  function lasting(value) {
    const parts = [];
    let rest = Math.max(0, value);
    for (const [unit, size] of UNITS) {
      if (rest >= size) {
        parts.push(`${Math.floor(rest / size)} ${unit}`);
        rest %= size;
      }
    }
    return parts.slice(0, 2).join(" ") || "less than 1 s";
  }

  function shown(column, value) {
    if (value === null) return NONE;
    if (column.kind === "number") return grouped(value);
    return column.kind === "duration" ? lasting(value) : value;
  }

  const valueOf = (column, row) => column.values[column.index ? column.index[row] : row];

  function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function compared(column) {
    const sign = (left, right) => (left < right ? -1 : left > right ? 1 : 0);
    return (left, right) => {
      const a = valueOf(column, left);
      const b = valueOf(column, right);
      if (a === null || b === null) return (a === null) - (b === null);
      return sign(a, b);
    };
  }

  class Paged {
    constructor(place) {
      this.place = place;
      this.data = tables[place.dataset.table];
      this.columns = this.data.columns.filter((column) => column.shown);
      this.rows = [...Array(this.data.rows).keys()];
      this.page = 0;
      this.sorted = null;
      this.addTools();
      this.addSorting();
      this.filter("");
    }

    addTools() {
      const tools = this.place.querySelector(".tools");
      this.words = element("input", undefined, { type: "search", placeholder: "filter", "aria-label": "Filter rows" });
      this.words.addEventListener("input", () => this.filter(this.words.value));
      this.back = element("button", "‹ back", { type: "button" });
      this.next = element("button", "next ›", { type: "button" });
      this.where = element("span", "", { role: "status" });
      this.back.addEventListener("click", () => this.turn(-1));
      this.next.addEventListener("click", () => this.turn(1));
      if (this.data.rows > 5) tools.append(this.words);
      tools.append(this.where);
      if (this.data.rows > this.data.page) tools.append(this.back, this.next);
    }

    addSorting() {
      this.heads = [...this.place.querySelectorAll("thead th")];
      this.heads.forEach((head, place) => {
        const button = element("button", head.textContent, { type: "button" });
        button.addEventListener("click", () => this.sort(place));
        head.replaceChildren(button);
      });
    }

    sort(place) {
      const up = !(this.sorted && this.sorted.place === place && this.sorted.up);
      this.sorted = { place, up };
      this.heads.forEach((head) => head.removeAttribute("aria-sort"));
      this.heads[place].setAttribute("aria-sort", up ? "ascending" : "descending");
      this.filter(this.words.value);
    }

    filter(text) {
      const words = text.toLowerCase().split(/\s+/).filter(Boolean);
      const has = (row, word) => this.data.columns.some((column) => String(valueOf(column, row) ?? "").toLowerCase().includes(word));
      this.found = words.length ? this.rows.filter((row) => words.every((word) => has(row, word))) : [...this.rows];
      if (this.sorted) {
        const order = compared(this.columns[this.sorted.place]);
        this.found.sort((left, right) => (this.sorted.up ? order(left, right) : order(right, left)));
      }
      this.page = 0;
      this.show();
    }

    turn(by) {
      this.page += by;
      this.show();
    }

    show() {
      const size = this.data.page;
      const start = this.page * size;
      const rows = this.found.slice(start, start + size);
      this.place.querySelector("tbody").replaceChildren(...rows.map((row) => this.row(row)));
      const total = this.found.length === this.data.rows ? grouped(this.data.rows) : `${grouped(this.found.length)} of ${grouped(this.data.rows)}`;
      this.where.textContent = rows.length ? `rows ${grouped(start + 1)} to ${grouped(start + rows.length)} of ${total}` : "no rows";
      this.back.disabled = this.page === 0;
      this.next.disabled = start + size >= this.found.length;
    }

    row(number) {
      const line = element("tr");
      for (const column of this.columns) line.append(this.cell(column, valueOf(column, number)));
      if (this.columns.length < this.data.columns.length) this.addMore(line, number);
      return line;
    }

    cell(column, value) {
      const cell = element("td", undefined, { class: column.kind });
      const text = shown(column, value);
      if (column.kind === "action") {
        cell.append(element("span", text, { class: `badge ${String(text).toLowerCase().replace(/[^a-z_]/g, "")}` }));
      } else {
        cell.append(element("bdi", text));
      }
      return cell;
    }

    addMore(line, number) {
      const button = element("button", "+", { type: "button", "aria-expanded": "false", "aria-label": "All columns of this row" });
      button.addEventListener("click", () => {
        const isOpen = button.getAttribute("aria-expanded") === "true";
        button.setAttribute("aria-expanded", String(!isOpen));
        button.textContent = isOpen ? "+" : "−";
        if (isOpen) line.nextElementSibling.remove();
        else line.after(this.more(number));
      });
      line.firstElementChild.prepend(button);
    }

    more(number) {
      const line = element("tr", undefined, { class: "more" });
      const cell = element("td", undefined, { colspan: this.columns.length });
      const list = element("dl");
      for (const column of this.data.columns) {
        const pair = element("div");
        pair.append(element("dt", column.title), element("dd", shown(column, valueOf(column, number))));
        list.append(pair);
      }
      cell.append(list);
      line.append(cell);
      return line;
    }
  }

  for (const place of document.querySelectorAll(".paged")) new Paged(place);
  root.dataset.ready = "yes";
})();
