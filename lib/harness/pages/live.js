// Brings the page up to date when something happens: the server renders it, this puts it in place.
(() => {
  const main = document.querySelector("main");
  const light = document.querySelector("#live");
  const { stream, only, every } = main.dataset;
  if (!light || !(stream || every)) return;
  const APART = 1500, AT_LEAST = 60000;
  let timer = 0, busy = false, shown = Date.now();

  const say = (state, words) => { light.hidden = false; light.dataset.state = state; light.textContent = words; };
  const occupied = () => document.hidden || String(getSelection()) !== ""
    || main.contains(document.activeElement) && document.activeElement.matches("input, select, textarea, button");

  async function look() {
    timer = 0;
    if (busy || occupied()) return soon();
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.redirected) return location.reload();
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
      for (const one of main.querySelectorAll("details[id]")) {
        const same = fresh.querySelector("#" + CSS.escape(one.id));
        if (same) same.open = one.open;
      }
      main.replaceChildren(...fresh.childNodes);
      shown = Date.now();
      if (every) say("on", "live");
    } catch { say("off", "not live"); } finally { busy = false; }
  }
  function soon() { timer ||= setTimeout(look, APART); }

  if (stream) {
    const source = new EventSource(stream);
    source.onopen = () => say("on", "live");
    source.onerror = () => say("off", "not live");
    for (const kind of ["delivery", "transition", "turn"]) {
      source.addEventListener(kind, (event) => {
        if (!only || JSON.parse(event.data).session_key === only) soon();
      });
    }
  }
  setInterval(() => { if (Date.now() - shown > (Number(every) * 1000 || AT_LEAST)) soon(); }, 1000);
})();
