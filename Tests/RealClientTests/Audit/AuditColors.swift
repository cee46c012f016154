// SPDX-License-Identifier: MIT

extension AuditScript {
  /// Contrast by WCAG 2.2 (1.4.3 and 1.4.11): of texts, of the edges of controls, and of the parts
  /// of strips against their ground.
  static let colors = #"""
    function parse(color) {
      const hex = /^#([0-9a-f]{6})$/i.exec(color.trim());
      if (hex) {
        return [0, 2, 4].map((at) => parseInt(hex[1].slice(at, at + 2), 16)).concat(1);
      }
      const numbers = (color.match(/[\d.]+/g) ?? []).map(Number);
      if (!/^rgba?\(/.test(color) || numbers.length < 3) throw new Error("no color: " + color);
      return [numbers[0], numbers[1], numbers[2], numbers[3] ?? 1];
    }

    function over(front, back) {
      const part = front[3];
      return [0, 1, 2].map((at) => front[at] * part + back[at] * (1 - part)).concat(1);
    }

    function luminance([red, green, blue]) {
      const linear = (byte) => {
        const value = byte / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
      };
      return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    }

    function contrast(a, b) {
      const [x, y] = [luminance(a), luminance(b)];
      return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    }

    /** What is painted behind the content of an element, whose ancestors may be translucent. */
    function ground(element) {
      const layers = [];
      for (let at = element; at; at = at.parentElement) {
        const style = getComputedStyle(at);
        if (style.backgroundImage !== "none") throw new Error("a picture behind " + at.tagName);
        layers.push(parse(style.backgroundColor));
        if (layers.at(-1)[3] === 1) break;
      }
      let color = over(parse(getComputedStyle(document.documentElement).backgroundColor),
        matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1]);
      for (const layer of layers.reverse()) color = over(layer, color);
      return color;
    }

    function opacity(element) {
      let all = 1;
      for (let at = element; at; at = at.parentElement) all *= Number(getComputedStyle(at).opacity);
      return all;
    }

    function checkText(element, text, style, report) {
      const back = ground(element);
      const color = parse(style.color);
      const ratio = contrast(over([...color.slice(0, 3), color[3] * opacity(element)], back), back);
      const size = parseFloat(style.fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (isLarge ? 3 : 4.5)) {
        report("contrast", element, ratio.toFixed(2) + " of '" + text.slice(0, 30) + "'");
      }
    }

    function checkColors(report) {
      let texts = 0;
      for (const element of all("body *")) {
        if (!isVisible(element) || element.closest("script, noscript, option")) continue;
        const isDisabled = element.closest(":disabled") !== null;
        const own = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
          .map((node) => node.textContent.trim()).join(" ").trim();
        const style = getComputedStyle(element);
        if (own !== "" && !isDisabled && !isQuiet(element)) {
          texts += 1;
          checkText(element, own, style, report);
        }
        if (element.placeholder) {
          const pale = getComputedStyle(element, "::placeholder");
          checkText(element, element.placeholder, pale, report);
        }
        // The edge shows where to click or to type; a checkbox has other signs.
        if (element.matches("input:not([type=checkbox]), select, button")
          && !isDisabled) {
          const outside = ground(element.parentElement);
          const edge = parse(style.borderTopColor);
          const best = Math.max(contrast(over(edge, outside), outside),
            contrast(ground(element), outside));
          if (best < 3) report("edge", element, best.toFixed(2));
        }
      }
      if (texts < 10) report("vacuous", document.body, texts + " texts");
    }

    /** Returns the names of the colors that are found in strips. */
    function checkStrips(report) {
      const root = getComputedStyle(document.documentElement);
      const named = ["full", "part", "none", "fetch", "reader", "rail"].map((name) =>
        [name, parse(root.getPropertyValue("--" + name))]);
      const found = new Set();
      for (const canvas of all("canvas")) {
        if (!isVisible(canvas)) continue;
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const counts = new Map();
        for (let at = 0; at < data.length; at += 4) {
          if (data[at + 3] !== 255) continue;
          const key = [...data.slice(at, at + 3)].join();
          counts.set(key, (counts.get(key) ?? 0) + 1);
        }
        const outside = ground(canvas);
        const none = named.find(([name]) => name === "none")[1];
        for (const [name, color] of named) {
          if (!counts.has(color.slice(0, 3).join())) continue;
          found.add(name);
          // Stored parts lie on what is missing; the rest of the strip on the page.
          const grounds = ["full", "part"].includes(name) ? [none]
            : name === "none" ? [] : [outside];
          for (const back of grounds) {
            const ratio = contrast(color, back);
            if (ratio < 3) report("strip", canvas, name + " " + ratio.toFixed(2));
          }
        }
        // Without it, a strip of which nothing is stored would have no visible end.
        if (!counts.has(named.find(([name]) => name === "rail")[1].slice(0, 3).join())) {
          report("strip", canvas, "no rail");
        }
      }
      return [...found].sort().join(" ");
    }
    """#
}
