// A figure that is pointed at or has the focus tells the value of each mark, and hides what an entry of its legend names.
(() => {
  "use strict";
  const ring = document.createElement("div"), tip = document.createElement("output"), figures = new Map();
  ring.className = "at";
  tip.className = "tip";
  document.body.append(ring, tip);
  const show = spot => {
    ring.hidden = tip.hidden = !spot;
    if (!spot) return;
    const box = spot.box(), wide = document.documentElement.clientWidth;
    Object.assign(ring.style, {left: `${scrollX + box.left - 4}px`, top: `${scrollY + box.top - 4}px`, width: `${box.width + 8}px`, height: `${box.height + 8}px`});
    tip.textContent = spot.says();
    const left = Math.max(4, Math.min(box.left + box.width / 2 - tip.offsetWidth / 2, wide - tip.offsetWidth - 4));
    const above = box.top - tip.offsetHeight - 9;
    Object.assign(tip.style, {left: `${scrollX + left}px`, top: `${scrollY + (above > 50 ? above : box.bottom + 9)}px`});
  };
  show(null);

  // Puts the drawing itself in its picture's place, apart from the page's names and style.
  const open = figure => {
    if (figures.has(figure)) return figures.get(figure);
    const picture = figure.querySelector("picture"), image = picture.querySelector("img"), host = document.createElement("div");
    const [, ...source] = (image.currentSrc || image.src).split(",");
    const drawing = new DOMParser().parseFromString(decodeURIComponent(source.join(",")), "image/svg+xml").documentElement;
    const values = figure.dataset.values.split("\n"), groups = [...drawing.querySelectorAll("[data-points]")];
    const keys = new Map(), off = new Set(), marks = [];
    for (const group of groups) {
      const {series, points} = group.dataset;
      if (points === "key") keys.set(series, [...keys.get(series) ?? [], group]);
      else if (points) points.split(" ").forEach((point, at) => {
        const mark = group.querySelectorAll("use")[at];
        marks.push({box: () => mark.getBoundingClientRect(), shown: () => !group.style.display, says: () => values[point].replace("\t", "\n")});
      });
    }
    const toggle = name => {
      off.delete(name) || off.add(name);
      for (const group of groups) {
        const {series, source, points} = group.dataset;
        if (points === "key") group.style.opacity = off.has(series) ? .35 : "";
        else group.style.display = off.has(series) || off.has(source) ? "none" : "";
      }
    };
    const entries = [...keys].map(([name, parts]) => ({
      box: () => {
        const boxes = parts.map(part => part.getBoundingClientRect());
        const left = Math.min(...boxes.map(box => box.left)), top = Math.min(...boxes.map(box => box.top));
        return new DOMRect(left, top, Math.max(...boxes.map(box => box.right)) - left, Math.max(...boxes.map(box => box.bottom)) - top);
      },
      shown: () => true, says: () => `${off.has(name) ? "show" : "hide"}: ${parts.map(part => part.textContent.trim()).join("")}`, act: () => toggle(name),
    }));
    const opened = {drawing, spots: marks.length ? [...entries, ...marks] : [], spot: null};
    figures.set(figure, opened);
    if (!marks.length) return opened;
    Object.assign(drawing.style, {display: "block", width: "100%", height: "auto"});
    host.className = "live";
    host.attachShadow({mode: "open"}).append(drawing);
    picture.after(host);
    picture.hidden = true;
    return opened;
  };

  // The legend's entry at a place, or the mark that is nearest to it.
  const find = ({spots}, x, y) => {
    let nearest = null, least = 14;
    for (const spot of spots.filter(spot => spot.shown())) {
      const box = spot.box(), inside = spot.act && x >= box.left - 3 && x <= box.right + 3 && y >= box.top - 3 && y <= box.bottom + 3;
      if (inside) return spot;
      const away = Math.hypot(x - box.left - box.width / 2, y - box.top - box.height / 2);
      if (!spot.act && away < least) [nearest, least] = [spot, away];
    }
    return nearest;
  };

  const save = figure => {
    const image = new Image(), link = document.createElement("a"), canvas = document.createElement("canvas");
    image.onload = () => {
      // The caption stands above the drawing, in lines of its width.
      const pen = canvas.getContext("2d"), font = getComputedStyle(figure).fontFamily, pad = 10, step = 20, lines = [];
      for (const [part, weight] of [[figure.querySelector("figcaption").firstChild, 600], [figure.querySelector(".shows"), 400]]) {
        pen.font = `${weight} 14px ${font}`;
        (part?.textContent.trim().split(/\s+/) ?? []).forEach((word, at) => {
          const longer = at ? `${lines.at(-1).text} ${word}` : word;
          if (at && pen.measureText(longer).width <= image.width - 2 * pad) lines.at(-1).text = longer;
          else lines.push({text: word, font: pen.font});
        });
      }
      const top = lines.length * step + pad;
      Object.assign(canvas, {width: 3 * image.width, height: 3 * (top + image.height)}); // some 290 dots per inch
      pen.scale(3, 3);
      pen.fillStyle = "#fff";
      pen.fillRect(0, 0, image.width, top + image.height);
      pen.fillStyle = "#222";
      lines.forEach(({text, font}, at) => {
        pen.font = font;
        pen.fillText(text, pad, (at + 1) * step);
      });
      pen.drawImage(image, 0, top, image.width, image.height);
      Object.assign(link, {href: canvas.toDataURL(), download: `${figure.id.replace("-drawn", "")}.png`});
      link.click();
    };
    const {drawing} = open(figure), copy = drawing.cloneNode(true);
    copy.removeAttribute("style");
    image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  };

  // The browser's dialogue prints, or saves as PDF, what is drawn: no other part of the page.
  const print = figure => {
    figure.classList.add("alone");
    addEventListener("afterprint", () => figure.classList.remove("alone"), {once: true});
    window.print();
  };

  for (const figure of document.querySelectorAll("figure[data-values]")) {
    const frame = figure.querySelector("[role=img]");
    const live = () => open(figure);
    frame.setAttribute("role", "group");
    frame.tabIndex = 0;
    frame.addEventListener("pointermove", event => {
      const spot = find(live(), event.clientX, event.clientY);
      frame.style.cursor = spot?.act ? "pointer" : "";
      show(spot);
    });
    frame.addEventListener("pointerleave", () => show(null));
    frame.addEventListener("blur", () => show(null));
    frame.addEventListener("click", event => {
      const spot = find(live(), event.clientX, event.clientY);
      spot?.act?.();
      show(spot);
    });
    frame.addEventListener("keydown", event => {
      const opened = live(), spots = opened.spots.filter(spot => spot.shown()), step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (event.key === "Escape") return show(null);
      if (!spots.length || !(step || event.key === "Enter")) return;
      event.preventDefault();
      if (step) opened.spot = spots[(Math.max(spots.indexOf(opened.spot), step < 0 ? 0 : -1) + step + spots.length) % spots.length];
      else opened.spot?.act?.();
      show(opened.spot);
    });
    for (const [name, act] of [["PNG", save], ["PDF (print)", print]]) {
      const button = document.createElement("button");
      Object.assign(button, {type: "button", className: "save", textContent: name});
      button.setAttribute("aria-label", `${name}: ${figure.id}`);
      button.addEventListener("click", () => act(figure));
      figure.querySelector(".files").append(" · ", button);
    }
  }
})();
