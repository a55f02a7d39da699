import { type AtmoError, ERROR_CODES } from '../../core/errors.ts';
import { terminalText } from '../../core/foreign-text.ts';
import { isJsonObject } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { nextStep } from '../next-step.ts';
import { inkFor } from './ink.ts';
import { type Paper, type Printable, rendered } from './page.ts';
import { everyInterval, Spinner, type Ticker } from './spinner.ts';
import type { TextSink } from './text-sink.ts';

interface OutputWorld {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly env?: CliIo['env'];
  readonly every?: Ticker;
}

/** Work that people wait for. */
interface Work {
  /** What it is at: a line on stderr, and beside the spinner where there is one. */
  step(text: string): void;
}

/** Answers on stdout: one JSON document with `--json`, else text for people. Everything else goes to stderr. */
export class Output {
  readonly isJson: boolean;
  readonly #stdout: TextSink;
  readonly #stderr: TextSink;
  readonly #env: CliIo['env'];
  readonly #every: Ticker;
  #spinner: Spinner | undefined;

  constructor({ stdout, stderr, env = {}, every = everyInterval }: OutputWorld, { isJson }: { readonly isJson: boolean }) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#env = env;
    this.#every = every;
    this.isJson = isJson;
  }

  /** Whether a person looks at stdout. */
  get isTerminal(): boolean {
    return !this.isJson && this.#stdout.isTTY === true;
  }

  /** Whether a person waits at stderr. */
  get isWatched(): boolean {
    return this.#stderr.isTTY === true;
  }

  /** The command's answer: `value` for programs, `human` for people. */
  answer(value: unknown, human: () => Printable): void {
    const text = this.isJson ? terminalText(JSON.stringify(value, null, 2)) : rendered(human(), this.#paper(this.#stdout));
    if (text !== '') this.#print(this.#stdout, text.endsWith('\n') ? text : `${text}\n`);
  }

  /** One line of a stream: a JSON document a line with `--json`. */
  line(value: unknown, human: Printable): void {
    const text = this.isJson ? terminalText(JSON.stringify(value)) : rendered(human, this.#paper(this.#stdout));
    this.#print(this.#stdout, `${text}\n`);
  }

  /** What people may want to know while they wait. */
  note(text: Printable): void {
    this.#print(this.#stderr, `${rendered(text, this.#paper(this.#stderr)).replace(/\n$/, '')}\n`);
  }

  /** Runs work that may take long: a terminal shows that it goes on, and everybody what each step is. */
  async during<Result>(text: string, run: (work: Work) => Promise<Result>): Promise<Result> {
    if (!this.#canRedraw()) return run({ step: (step) => this.note(step) });
    using spinner = new Spinner(this.#stderr, text, this.#every);
    this.#spinner = spinner;
    try {
      return await run({
        step: (step) => {
          this.note(step);
          spinner.say(step.trim());
        },
      });
    } finally {
      this.#spinner = undefined;
    }
  }

  /** Answers the exit code. `document` is what programs get, the error alone unless it is given. */
  fail(error: AtmoError, document: object = { error: error.toBody() }): number {
    if (this.isJson) this.#print(this.#stdout, `${terminalText(JSON.stringify(document, null, 2))}\n`);
    const { ink } = this.#paper(this.#stderr);
    const text = terminalText(`${error.message}\n${detailLines(error).join('')}`);
    const next = nextStep(error);
    this.#print(this.#stderr, `${ink(error.code, 'bad')}: ${text}${next === undefined ? '' : `${ink('→', 'warning')} ${next}\n`}`);
    return ERROR_CODES[error.code].exitCode;
  }

  #canRedraw(): boolean {
    return this.#stderr.isTTY === true && this.#env.TERM !== 'dumb' && this.#spinner === undefined;
  }

  #paper(sink: TextSink): Paper {
    return { columns: sink.isTTY === true ? sink.columns : undefined, ink: inkFor(sink, this.#env) };
  }

  /** What devices, tools and hubs say was made harmless by `rendered` or `terminalText` before it comes here. */
  #print(sink: TextSink, text: string): void {
    if (this.#spinner) this.#spinner.aside(() => sink.write(text));
    else sink.write(text);
  }
}

/** The single mistakes that a VALIDATION_ERROR carries, one a line, when there are several. */
function detailLines({ details }: AtmoError): string[] {
  const problems = Array.isArray(details.problems) ? details.problems.filter(isJsonObject) : [];
  if (problems.length < 2) return [];
  return problems.map(({ pointer, parameter, message }) => `  ${pointer ?? parameter ?? ''} ${message}\n`);
}
