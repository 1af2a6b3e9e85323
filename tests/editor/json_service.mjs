// Asks VS Code's JSON service what an editor would show in JSON texts.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import jsonService from "vscode-json-languageservice";

const { ClientCapabilities, getLanguageService, TextDocument } = jsonService;

/** Answers for every text, by its position. */
export async function askJsonService(texts, schemaPath) {
  const uri = pathToFileURL(schemaPath).href;
  const schema = JSON.parse(readFileSync(schemaPath, "utf8"));
  const service = getLanguageService({ clientCapabilities: ClientCapabilities.LATEST });
  service.configure({ validate: true, schemas: [{ uri, fileMatch: ["*.json"], schema }] });
  const answers = [];
  for (const [index, text] of texts.entries()) answers.push(await ask(service, text, index));
  return answers;
}

async function ask(service, { text, cursor }, index) {
  const document = TextDocument.create(`file:///cases/${index}.json`, "json", 1, text);
  const parsed = service.parseJSONDocument(document);
  const found = await service.doValidation(document, parsed);
  const answer = { diagnostics: found.map((d) => said(d, document)), fixes: [] };
  if (cursor) {
    const position = { line: cursor.line - 1, character: cursor.character };
    const completion = await service.doComplete(document, position, parsed);
    answer.completion = (completion?.items ?? []).map((item) => ({
      label: item.label,
      insert: item.textEdit?.newText ?? item.insertText,
      documentation: item.documentation?.value ?? item.documentation ?? "",
    }));
    const contents = (await service.doHover(document, position, parsed))?.contents;
    answer.hover = [contents ?? []].flat().map((part) => part.value ?? part).join("\n\n");
  }
  return answer;
}

function said({ range, message }, document) {
  return { line: range.start.line + 1, span: document.getText(range), message };
}
