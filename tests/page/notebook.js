// The part of a page that every notebook has: an output for each cell, and the way to the tests' process.

export const VIEW = "application/vnd.jupyter.widget-view+json";

// A frame: four bytes, the length of a message; the message, in JSON; and its buffers.
function read(frame) {
  const length = new DataView(frame).getUint32(0, true);
  const message = JSON.parse(new TextDecoder().decode(new Uint8Array(frame, 4, length)));
  let at = 4 + length;
  const buffers = message.lengths.map((size) => new DataView(frame, (at += size) - size, size));
  return [message, buffers];
}

// Receives messages, one after the other; each is handled by the act of its type. Returns what sends one.
export function connect(acts, closed = () => {}) {
  const socket = new WebSocket(`ws://${location.host}/socket`);
  socket.binaryType = "arraybuffer";
  let last = Promise.resolve();
  socket.onmessage = ({ data }) => {
    const [message, buffers] = read(data);
    last = last.then(() => acts[message.t](message, buffers));
  };
  socket.onopen = () => (document.documentElement.dataset.open = "");
  socket.onclose = async () => {
    await last;
    closed();
  };
  return (message) => {
    if (socket.readyState !== WebSocket.OPEN) throw new Error("Cannot send"); // as JupyterLab's comm
    socket.send(JSON.stringify(message));
  };
}

// A node for an output of a cell; one of an `output` that is there takes its place, and is closed.
export function put({ cell, output }) {
  const node = document.createElement("div");
  Object.assign(node.dataset, { output });
  const place = document.getElementById(`cell-${cell}`) ?? newCell(cell);
  const before = place.querySelector(`[data-output="${output}"]`);
  if (before) before.replaceWith(node);
  else place.append(node);
  before?.close?.();
  return node;
}

function newCell(cell) {
  const node = document.createElement("section");
  node.id = `cell-${cell}`;
  document.body.append(node);
  return node;
}

// Shows what is no widget.
export function fill(node, data) {
  if ("text/html" in data) node.innerHTML = data["text/html"];
  else if (data["image/png"]) node.innerHTML = `<img style="max-width: 100%" src="data:image/png;base64,${data["image/png"]}">`;
  else node.textContent = data["text/plain"];
}
