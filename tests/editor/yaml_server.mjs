// Asks yaml-language-server, over its protocol, what an editor would show in YAML texts.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node.js";

const MARKDOWN = ["markdown", "plaintext"];
const CAPABILITIES = {
  workspace: { configuration: true },
  textDocument: {
    completion: { completionItem: { snippetSupport: true, documentationFormat: MARKDOWN } },
    hover: { contentFormat: MARKDOWN },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix"] } } },
  },
};

// The schema stores are off: nothing here may ask the network.
const SETTINGS = {
  yaml: {
    validate: true,
    hover: true,
    completion: true,
    schemaStore: { enable: false },
    kubernetesCRDStore: { enable: false },
  },
};

const section = (path = "") => path.split(".").reduce((node, part) => node?.[part], SETTINGS) ?? null;

/** Answers for every text, by its position; the server starts and ends here. */
export async function askYamlServer(texts, schemaPath) {
  const server = spawn(process.execPath, [serverScript(), "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  const connection = createMessageConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin),
  );
  const published = new Map();
  connection.onRequest("workspace/configuration", ({ items }) => items.map((item) => section(item.section)));
  connection.onRequest("client/registerCapability", () => null);
  connection.onNotification("textDocument/publishDiagnostics", ({ uri, diagnostics }) => {
    published.get(uri)?.(diagnostics);
  });
  connection.listen();
  await connection.sendRequest("initialize", { processId: process.pid, rootUri: null, capabilities: CAPABILITIES });
  connection.sendNotification("initialized", {});
  connection.sendNotification("workspace/didChangeConfiguration", { settings: SETTINGS });

  const opened = texts.map((text, index) => open(connection, published, text, index, schemaPath));
  const answers = [];
  for (const document of opened) answers.push(await ask(connection, document)); // one at a time: steady answers
  await connection.sendRequest("shutdown");
  connection.sendNotification("exit");
  connection.dispose();
  return answers;
}

function serverScript() {
  return createRequire(import.meta.url).resolve("yaml-language-server/bin/yaml-language-server");
}

// Line 0 is the modeline, so that a line of the text is the same line of the document counted from 1.
function open(connection, published, { text, cursor }, index, schemaPath) {
  const uri = `file:///cases/${index}.yaml`;
  const diagnostics = new Promise((resolve) => published.set(uri, resolve)); // one publication follows each opening
  const whole = `# yaml-language-server: $schema=${pathToFileURL(schemaPath).href}\n${text}`;
  connection.sendNotification("textDocument/didOpen", {
    textDocument: { uri, languageId: "yaml", version: 1, text: whole },
  });
  return { uri, text, diagnostics, position: cursor && { line: cursor.line, character: cursor.character } };
}

async function ask(connection, { uri, text, diagnostics, position }) {
  const textDocument = { uri };
  const found = await diagnostics;
  const answer = { diagnostics: found.map((d) => said(d, text)), fixes: [] };
  for (const diagnostic of found) {
    const context = { diagnostics: [diagnostic] };
    const request = { textDocument, range: diagnostic.range, context };
    const actions = (await connection.sendRequest("textDocument/codeAction", request)) ?? [];
    answer.fixes.push(...actions.filter((a) => a.kind === "quickfix").map((a) => a.title));
  }
  if (position) {
    const at = { textDocument, position };
    const completion = await connection.sendRequest("textDocument/completion", at);
    answer.completion = (completion?.items ?? []).map((item) => ({
      label: item.label,
      insert: item.textEdit?.newText ?? item.insertText,
      documentation: item.documentation?.value ?? item.documentation ?? "",
    }));
    const hover = await connection.sendRequest("textDocument/hover", at);
    answer.hover = hover?.contents?.value ?? "";
  }
  return answer;
}

function said({ range, message }, text) {
  const lines = text.split("\n");
  const { start, end } = range;
  const rest = lines[start.line - 1]?.slice(start.character) ?? "";
  const span = start.line === end.line ? rest.slice(0, end.character - start.character) : rest;
  return { line: start.line, span, message };
}
