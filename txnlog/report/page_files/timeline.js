"use strict";
const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// --- timelines: bars whose places are in per cent, so they fit a screen of any width, and paper
const timelineOf = (() => {
  const SIGNS = { COMMIT: "▲", ABORT: "✕", "high watermark": "◆" };
  const MINUTE = 60000;
  const HOUR = 60 * MINUTE;
  const TIMES = [1000, 5000, 15000, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR];

  const classOf = (action) => action.toLowerCase().replace(/[^a-z_ ]/g, "");

  // Whole offsets, or times of the clock.
  function stepOf(left, right, isTime) {
    const span = right - left;
    // More of long numbers would meet on a phone.
    const most = isTime || right < 1e9 ? 4 : 3;
    if (isTime && span <= most * TIMES.at(-1)) return TIMES.find((step) => span / step <= most);
    const unit = isTime ? TIMES.at(-1) : 1;
    const least = span / most / unit;
    const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
    return unit * ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power;
  }

  function tickOf(value, step, isTime) {
    if (!isTime) return grouped(value);
    const text = new Date(value).toISOString();
    if (step >= 24 * HOUR) return text.slice(0, 10);
    return text.slice(11, step < MINUTE ? 19 : 16);
  }

  function at(place, left, more = {}) {
    place.style.left = `${left}%`;
    for (const [name, value] of Object.entries(more)) place.style[name] = value;
    return place;
  }

  return (data) => {
    const [left, right] = data.range;
    const share = (value) => (100 * (value - left)) / (right - left);
    const whole = element("div", undefined, { class: "timeline" });
    for (const [value, , text] of data.across) {
      const line = element("div", undefined, { class: "note" });
      const isLate = share(value) > 50;
      line.append(at(element("span", text), share(value), { transform: isLate ? "translateX(-100%)" : "none" }));
      whole.append(line);
    }
    const lines = element("div", undefined, { class: "lines-of" });
    for (const [value, dash] of data.across) lines.append(at(element("i", undefined, { class: `across ${dash}` }), share(value)));
    const tracks = data.names.map((name, place) => {
      const texts = data.spans.filter((span) => span[0] === place && span[5]).map((span) => span[5]);
      const track = element("div", undefined, { class: "track" });
      const label = element("div", undefined, { class: "label" });
      label.append(element("bdi", name, { class: "mono" }), element("span", ` ${texts.join(", ")}`));
      lines.append(label, track);
      return track;
    });
    for (const [place, start, length, action, opacity] of data.spans) {
      const bar = element("i", undefined, { class: `bar ${classOf(action)}` });
      tracks[place].append(at(bar, share(start), { width: `${(100 * length) / (right - left)}%`, opacity }));
    }
    for (const [place, value, sign, title] of data.marks) {
      tracks[place].append(at(element("i", SIGNS[sign] ?? "●", { class: "mark", title }), share(value)));
    }
    const axis = element("div", undefined, { class: "axis" });
    const step = stepOf(left, right, data.time);
    for (let value = Math.ceil(left / step) * step; value <= right; value += step) {
      // A tick at an edge would be cut.
      if (share(value) > 8 && share(value) < 92) axis.append(at(element("span", tickOf(value, step, data.time)), share(value)));
    }
    const day = data.time ? `time (UTC), up to ${new Date(right).toISOString().slice(0, 10)}` : "offset";
    whole.append(lines, axis, element("div", day, { class: "unit" }));
    return whole;
  };
})();
