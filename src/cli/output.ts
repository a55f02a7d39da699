import { type AtmoError, ERROR_CODES } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import type { TextSink } from './cli-io.ts';
import { terminalText } from './terminal-text.ts';

/** Answers on stdout: one JSON document with `--json`, else text for people. Everything else goes to stderr. */
export class Output {
  readonly isJson: boolean;
  readonly #stdout: TextSink;
  readonly #stderr: TextSink;

  constructor(streams: { readonly stdout: TextSink; readonly stderr: TextSink }, { isJson }: { readonly isJson: boolean }) {
    this.#stdout = streams.stdout;
    this.#stderr = streams.stderr;
    this.isJson = isJson;
  }

  /** The command's answer: `value` for programs, `human` for people. */
  answer(value: unknown, human: () => string): void {
    const text = this.isJson ? JSON.stringify(value, null, 2) : human();
    if (text !== '') this.#write(this.#stdout, text.endsWith('\n') ? text : `${text}\n`);
  }

  /** One line of a stream: a JSON document a line with `--json`. */
  line(value: unknown, human: string): void {
    this.#write(this.#stdout, `${this.isJson ? JSON.stringify(value) : human}\n`);
  }

  /** What people may want to know while they wait. */
  note(text: string): void {
    this.#write(this.#stderr, `${text}\n`);
  }

  /** Answers the exit code. `document` is what programs get, the error alone unless it is given. */
  fail(error: AtmoError, document: object = { error: error.toBody() }): number {
    if (this.isJson) this.#write(this.#stdout, `${JSON.stringify(document, null, 2)}\n`);
    this.#write(this.#stderr, `${error.code}: ${error.message}\n${detailLines(error).join('')}`);
    return ERROR_CODES[error.code].exitCode;
  }

  /** What devices, tools and hubs say passes here, whatever command prints it. */
  #write(sink: TextSink, text: string): void {
    sink.write(terminalText(text));
  }
}

/** The single mistakes that a VALIDATION_ERROR carries, one a line, when there are several. */
function detailLines({ details }: AtmoError): string[] {
  const problems = Array.isArray(details.problems) ? details.problems.filter(isJsonObject) : [];
  if (problems.length < 2) return [];
  return problems.map(({ pointer, parameter, message }) => `  ${pointer ?? parameter ?? ''} ${message}\n`);
}
