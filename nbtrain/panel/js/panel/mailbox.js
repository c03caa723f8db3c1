// The mailbox of a run's folder, reached through Jupyter Server's contents API, without the kernel.

/** @import { Command, Letter, MailboxPlace, Receipt } from "../protocol.d.ts" */

/**
 * serverRoot: "" in Notebook and nbclassic, whose pages do not know it.
 * @typedef {{baseUrl: string, serverRoot: string, token: string}} Server
 */

const BY = "the panel, through the run's folder";
const TAKEN_MS = 300; // after which a command that the run has read has an answer

export class Mailbox {
  /**
   * place: returns the place of the run's mailbox; null if no command may be sent.
   * @param {() => MailboxPlace | null | undefined} place
   */
  constructor(place) {
    this.place = place;
  }

  /**
   * Sends a command, which is executed once even if the kernel receives it too. Returns "" if it was
   * written, the reason if it was not, or null if this page cannot reach the folder.
   * @param {string} id
   * @param {Command} command
   * @returns {Promise<string | null>}
   */
  async send(id, command) {
    const place = this.place();
    if (!place) return null;
    /** @type {Letter} */
    const letter = { nbtrain: 1, attempt: place.attempt, by: BY, ...command };
    const content = JSON.stringify(letter);
    const answer = await this.#ask(place, `${id}.json`, {
      method: "PUT",
      body: JSON.stringify({ type: "file", format: "text", content }),
    });
    if (answer === null) return null;
    if (answer instanceof Error) return "the server does not answer";
    // The run may have read and removed the file before the server checked what it wrote.
    if (answer.status === 404 && (await this.#isTaken(id))) return "";
    return answer.ok && !answer.redirected ? "" : String(answer.status);
  }

  /**
   * The run's answer to a command; null if there is none that can be read.
   * @param {string} id
   * @returns {Promise<Receipt | null>}
   */
  async answer(id) {
    const place = this.place();
    if (!place) return null;
    try {
      const answer = await this.#ask(place, `answers/${id}.json`, { cache: "no-store" });
      const { content } = await /** @type {Response} */ (answer).json();
      const { command, state, text, step } = JSON.parse(content);
      const at = step == null ? "" : ` (step ${step.toLocaleString("en")})`;
      return { id, command, state, text: `${text ?? state}${at}` };
    } catch {
      return null; // not answered yet, or half written
    }
  }

  /** @param {string} id */
  async #isTaken(id) {
    await new Promise((resolve) => setTimeout(resolve, TAKEN_MS));
    return (await this.answer(id)) !== null;
  }

  /**
   * @param {MailboxPlace} place
   * @param {string} name
   * @param {RequestInit} request
   * @returns {Promise<Response | Error | null>}
   */
  async #ask(place, name, request) {
    const server = config();
    const folder = server?.serverRoot ? below(place, server.serverRoot) : place.path;
    if (!server || !folder) return null;
    /** @type {Record<string, string>} */
    const headers = { "Content-Type": "application/json" };
    const xsrf = document.cookie.match("\\b_xsrf=([^;]*)\\b")?.[1];
    if (xsrf) headers["X-XSRFToken"] = xsrf;
    if (server.token) headers.Authorization = `token ${server.token}`;
    const path = [...folder, "mailbox", ...name.split("/")].map(encodeURIComponent).join("/");
    const url = `${server.baseUrl.replace(/\/*$/, "/")}api/contents/${path}`;
    try {
      return await fetch(request.method ? url : `${url}?type=file&format=text`, {
        ...request,
        headers,
        credentials: "same-origin",
      });
    } catch (error) {
      return /** @type {Error} */ (error);
    }
  }
}

/**
 * The server's configuration in a page of JupyterLab, Notebook or nbclassic; null on other pages.
 * @returns {Server | null}
 */
export function config() {
  try {
    const written = document.getElementById("jupyter-config-data")?.textContent;
    const {
      baseUrl,
      token = "",
      serverRoot = "",
      notebookPage,
    } = written ? JSON.parse(written) : classic(document.body);
    return baseUrl && (serverRoot || notebookPage) ? { baseUrl, serverRoot, token } : null;
  } catch {
    return null;
  }
}

/** @param {HTMLElement} body */
function classic({ dataset: { baseUrl = "", jupyterApiToken = "", notebookPath } }) {
  return {
    baseUrl: decodeURIComponent(baseUrl),
    token: decodeURIComponent(jupyterApiToken),
    notebookPage: notebookPath,
  };
}

/**
 * The parts of the path from a server's root to a run's folder; null if the folder is not below it.
 * @param {Pick<MailboxPlace, "folders" | "homes">} place
 * @param {string} root A path, perhaps one that begins with ~
 */
export function below({ folders, homes }, root) {
  const roots = /^~(\/|$)/.test(root) ? homes.map((home) => home + root.slice(1)) : [root];
  for (const folder of folders.map(parts))
    for (const above of roots.map(parts))
      if (above.every((part, i) => part === folder[i])) return folder.slice(above.length);
  return null;
}

/** @param {string} path */
function parts(path) {
  return path.split("/").filter(Boolean);
}
