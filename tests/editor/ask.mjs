// Standard input: {schema: path, yaml: [{text, cursor}], json: [{text, cursor}]}, lines from 1, characters from 0.
// Standard output: {yaml: [answer], json: [answer]}, an answer being {diagnostics, fixes, completion, hover}.
import { text } from "node:stream/consumers";
import { askJsonService } from "./json_service.mjs";
import { askYamlServer } from "./yaml_server.mjs";

const { schema, yaml, json } = JSON.parse(await text(process.stdin));
const answers = { yaml: await askYamlServer(yaml, schema), json: await askJsonService(json, schema) };
process.stdout.write(JSON.stringify(answers, null, 1));
