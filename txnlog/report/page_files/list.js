// --- lists: all rows are in the page, a page at a time on the screen, all of them on paper
const List = (() => {
  const NONE = "—";
  const UNITS = [["d", 86400000], ["h", 3600000], ["min", 60000], ["s", 1000]];
  const PICKED = ["action", "cause", "topic"];

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

  function compared(column) {
    const sign = (left, right) => (left < right ? -1 : left > right ? 1 : 0);
    return (left, right) => {
      const a = valueOf(column, left);
      const b = valueOf(column, right);
      if (a === null || b === null) return (a === null) - (b === null);
      return sign(a, b);
    };
  }

  return class {
    // `details` makes what a row opens with; `changed` is told each choice of a filter.
    constructor(place, data, details, changed = () => {}) {
      Object.assign(this, { place, data, details, changed });
      this.columns = data.columns.filter((column) => column.shown);
      this.all = [...Array(data.rows).keys()];
      this.opened = new Set();
      this.sorted = null;
      this.addTools();
      this.addSorting();
      this.filter();
    }

    addTools() {
      const tools = this.place.querySelector(".tools");
      this.picks = {};
      for (const column of this.details ? this.data.columns.filter((each) => PICKED.includes(each.title)) : []) {
        const pick = element("select", undefined, { "aria-label": `Filter by ${column.title}` });
        pick.append(new Option(`any ${column.title}`, ""), ...[...new Set(column.values)].sort().map((value) => new Option(value)));
        pick.addEventListener("change", () => this.choose());
        this.picks[column.title] = pick;
      }
      const hint = this.details ? "topic, id or any word" : "filter";
      this.words = element("input", undefined, { type: "search", placeholder: hint, "aria-label": "Filter rows" });
      this.words.addEventListener("input", () => this.choose());
      this.back = element("button", "‹ back", { type: "button" });
      this.next = element("button", "next ›", { type: "button" });
      this.where = element("span", "", { role: "status" });
      this.back.addEventListener("click", () => this.turn(-1));
      this.next.addEventListener("click", () => this.turn(1));
      tools.append(...Object.values(this.picks), this.words, this.where);
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
      this.filter();
    }

    choose() {
      this.filter();
      this.changed(this.chosen());
    }

    chosen() {
      const picked = Object.entries(this.picks).map(([name, pick]) => [name, pick.value]);
      return Object.fromEntries([...picked, ["words", this.words.value]].filter(([, value]) => value));
    }

    pick(chosen) {
      for (const [name, pick] of Object.entries(this.picks)) pick.value = chosen[name] ?? "";
      this.words.value = chosen.words ?? "";
      this.filter();
    }

    filter() {
      const words = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const has = (row, word) => this.data.columns.some((column) => String(valueOf(column, row) ?? "").toLowerCase().includes(word));
      const picked = this.data.columns.filter((column) => this.picks[column.title]?.value);
      this.found = this.all.filter((row) =>
        picked.every((column) => valueOf(column, row) === this.picks[column.title].value) && words.every((word) => has(row, word)));
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

    show(isPrinted = false) {
      const size = isPrinted ? this.found.length : this.data.page;
      const start = isPrinted ? 0 : this.page * size;
      const rows = this.found.slice(start, start + size);
      this.place.querySelector("tbody").replaceChildren(...rows.flatMap((row) => this.row(row)));
      const total = this.found.length === this.data.rows ? grouped(this.data.rows) : `${grouped(this.found.length)} of ${grouped(this.data.rows)}`;
      this.where.textContent = rows.length ? `rows ${grouped(start + 1)} to ${grouped(start + rows.length)} of ${total}` : "no rows";
      this.back.disabled = this.page === 0;
      this.next.disabled = start + size >= this.found.length;
    }

    row(number) {
      const line = element("tr", undefined, { "data-row": number });
      for (const column of this.columns) line.append(this.cell(column, valueOf(column, number)));
      if (!this.details) return [line];
      const isOpen = this.opened.has(number);
      const button = element("button", isOpen ? "−" : "+", { type: "button", "aria-expanded": isOpen, "aria-label": "Evidence, timelines and commands" });
      button.addEventListener("click", () => {
        if (!this.opened.delete(number)) this.opened.add(number);
        const [again, ...more] = this.row(number);
        if (isOpen) line.nextElementSibling.remove();
        line.replaceWith(again, ...more);
        again.querySelector("button").focus({ preventScroll: true });
      });
      line.firstElementChild.prepend(button);
      return isOpen ? [line, this.more(number)] : [line];
    }

    // Lead to a row, whatever was chosen before.
    open(number) {
      if (!this.found.includes(number)) this.pick({});
      this.page = Math.floor(this.found.indexOf(number) / this.data.page);
      this.opened.add(number);
      this.show();
      const line = this.place.querySelector(`[data-row="${number}"]`);
      line.scrollIntoView();
      line.querySelector("button").focus({ preventScroll: true });
    }

    cell(column, value) {
      const cell = element("td", undefined, { class: column.kind, "data-title": column.title });
      const text = shown(column, value);
      if (column.kind === "action") {
        cell.append(element("span", text, { class: `badge ${String(text).toLowerCase().replace(/[^a-z_]/g, "")}` }));
      } else {
        cell.append(element("bdi", text));
      }
      return cell;
    }

    more(number) {
      const line = element("tr", undefined, { class: "more" });
      const cell = element("td", undefined, { colspan: this.columns.length });
      const others = element("details");
      const list = element("dl", undefined, { class: "facts" });
      for (const column of this.data.columns.filter((each) => !each.shown)) {
        const pair = element("div");
        pair.append(element("dt", column.title), element("dd", shown(column, valueOf(column, number))));
        list.append(pair);
      }
      others.append(element("summary", "All other columns"), list);
      cell.append(...this.details(number), others);
      line.append(cell);
      return line;
    }
  };
})();
