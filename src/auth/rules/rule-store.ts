import { sha256Hex } from '../../codec/hashes.ts';
import type { CallToJudge, RuleEngine, RuleVerdict } from '../../core/auth/principal.ts';
import type { KnownNames, RuleAdministration, RuleListing, RuleTestResult, RuleWarning } from '../../core/auth/rules.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import type { DeviceFacts } from '../../core/devices/device-names.ts';
import { toAtmoError } from '../../core/errors.ts';
import { acceptedTextInStore, blankFileError, isBlank, OwnerFile, type OwnerText } from '../../core/files/owner-file.ts';
import type { HubProblems } from '../../core/health.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { recordNote } from '../../core/storage/audit-sink.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { type CompiledRules, compileRules, lintRules, noRules } from './rule-compiler.ts';
import { readRulesFile, rulesSignature } from './rule-file.ts';
import { type MinuteOfWeek, shownMinute } from './rule-terms.ts';

/**
 * Milliseconds between checks of the rules file. Checks are cheaper than a watch on the folder: a check takes microseconds, but the watch
 * would wake the hub for each log line that is written to a file in the folder.
 */
const CHECK_AGAIN_MS = 1_000;
/** Milliseconds for which a file must stay the same after a change before it is read, since an editor may still be writing it. */
const SETTLE_MS = 200;
/** Milliseconds until a file is read again that could not be used. */
const READ_AGAIN_MS = 5_000;

const SPACE = 'rules';
const TAKEN = 'taken';
const PROBLEM = 'rules';
const MISTAKE = 'rules.yaml has a mistake, and the rules that were taken last hold; "atmo rules check" says what is wrong';
const NO_RULES = { purpose: 'to have no rules', text: 'rules: []' };

/** The parts of the hub that the rules use. */
export interface RuleStoreServices extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'audit'> {
  /** The clock for the days and times in rules. */
  readonly time: TrustedTime;
  readonly facts: DeviceFacts;
  readonly problems: Pick<HubProblems, 'raise' | 'clear'>;
  /** Stores the last accepted rules. If the file is absent, a stored copy shows that the file was lost. */
  readonly store: Pick<KeyValueStore, 'get' | 'set' | 'delete'>;
}

/**
 * Loads the owner's rules from their file. If the file has mistakes, is empty or is lost, the last accepted rules stay in force, also after
 * a restart, and the owner is warned. If no rules were ever accepted, `start` throws CONFIG_INVALID for an empty or faulty file.
 */
export class RuleStore implements RuleEngine, RuleAdministration, Service {
  readonly #ports: RuleStoreServices;
  readonly #path: string;
  readonly #file: OwnerFile<CompiledRules>;
  readonly #mustExist: boolean;
  #rules: CompiledRules;
  #hash: string | undefined;
  /** Fingerprint of the file when it was last read. */
  #signature: string | undefined;
  /** Fingerprint at the last check that found a change. The hub reads the file when the next check finds no further change. */
  #seen: string | undefined;
  #problem: string | undefined;
  #cancelCheck: (() => void) | undefined;

  /** With `mustExist` (for a configured path), `start` throws CONFIG_INVALID if the file is missing and no rules were ever accepted. */
  constructor(ports: RuleStoreServices, file: string, { mustExist = false }: { readonly mustExist?: boolean } = {}) {
    this.#ports = ports;
    this.#mustExist = mustExist;
    this.#path = file;
    this.#file = new OwnerFile({
      paths: [file],
      read: () => readRulesFile(file),
      parse,
      takenOf: () => acceptedTextInStore(ports.store, SPACE, TAKEN),
      nothing: NO_RULES,
    });
    this.#rules = noRules();
  }

  async start(): Promise<void> {
    this.#signature = rulesSignature(this.#path);
    const found = this.#file.load();
    if (found) await this.#startWith(found);
    else if (this.#mustExist && !this.#file.wasAccepted()) throw blankFileError(this.#path, 'is not there', NO_RULES);
    this.#checkLater(CHECK_AGAIN_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelCheck?.();
  }

  async #startWith(found: OwnerText<CompiledRules>): Promise<void> {
    await this.#note('rules.loaded', this.#accept(found));
    if (!('fault' in found)) return;
    this.#signature = undefined;
    this.#refuse(toAtmoError(found.fault).message);
  }

  judge(call: CallToJudge): RuleVerdict {
    const { set } = this.#rules;
    if (set.rules.length === 0 && set.default === 'allow') return { kind: 'allow' };
    return set.judge(call, { minute: this.#minute(), facts: this.#ports.facts });
  }

  list(): RuleListing {
    const { set, zone } = this.#rules;
    return {
      file: this.#path,
      ...(this.#hash !== undefined && { hash: this.#hash }),
      timezone: zone.zone,
      default: set.default,
      rules: set.rules.map(({ terms: _, ...stated }) => stated),
      ...(this.#problem !== undefined && { problem: this.#problem }),
    };
  }

  test(call: CallToJudge, at?: string): RuleTestResult {
    const { set, zone } = this.#rules;
    const minute = at === undefined ? this.#minute() : zone.parse(at, this.#ports.time.now());
    const trial = set.explain(call, { minute, facts: this.#ports.facts });
    return { ...trial, ...(minute !== undefined && { at: shownMinute(minute) }) };
  }

  warnings(known: Omit<KnownNames, 'types'>): readonly RuleWarning[] {
    const types = known.devices.flatMap((id) => [...this.#ports.facts.typesOf(id)]);
    return [...this.#rules.warnings, ...lintRules(this.#rules.set.rules, { ...known, types })];
  }

  #minute(): MinuteOfWeek | undefined {
    const { time } = this.#ports;
    return time.isTrusted() ? this.#rules.zone.at(time.now()) : undefined;
  }

  #accept({ content, text, path }: OwnerText<CompiledRules>): JsonObject {
    this.#rules = content;
    this.#hash = sha256Hex(text);
    this.#problem = undefined;
    this.#ports.problems.clear(PROBLEM);
    this.#file.accept({ text, path });
    const { set, zone } = this.#rules;
    this.#ports.logger.info('rules.loaded', { count: set.rules.length, timezone: zone.zone });
    return { hash: this.#hash, count: set.rules.length };
  }

  #checkLater(delayMs: number): void {
    this.#cancelCheck = this.#ports.clock.after(delayMs, () => this.#checkLater(this.#check()));
  }

  /** Checks the file for changes. Returns the milliseconds until the next check. */
  #check(): number {
    const signature = rulesSignature(this.#path);
    if (signature === this.#signature) return CHECK_AGAIN_MS;
    if (signature !== this.#seen) {
      this.#seen = signature;
      return SETTLE_MS;
    }
    try {
      this.#reload();
      this.#signature = signature;
      return CHECK_AGAIN_MS;
    } catch (error) {
      this.#refuse(toAtmoError(error).message);
      // The file is read again though it has not changed: the disk may have failed, and then the rules in it do not hold yet.
      return READ_AGAIN_MS;
    }
  }

  #reload(): void {
    const found = this.#file.load();
    if (!found) {
      this.#problem = undefined;
      this.#ports.problems.clear(PROBLEM);
      return;
    }
    if ('fault' in found) throw found.fault;
    if (sha256Hex(found.text) === this.#hash && this.#problem === undefined) return;
    const data = this.#accept(found);
    this.#ports.events.emit('rules.changed', 'rules', data);
    void this.#note('rules.loaded', data);
  }

  #refuse(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    // Everyone can read the lines of /healthz, so the line has no words of the rules: they name devices and people.
    this.#ports.problems.raise(PROBLEM, MISTAKE);
    this.#ports.logger.warn('rules.refused', { reason: problem });
    this.#ports.events.emit('hub.warning', 'rules', { warning: 'rules.refused', reason: problem });
    void this.#note('rules.refused', { reason: problem });
  }

  #note(event: string, data: JsonObject): Promise<void> {
    return recordNote(this.#ports, { event, atMs: this.#ports.time.now(), data });
  }
}

/** Compiles the text. Throws CONFIG_INVALID if the text is blank or has mistakes. */
function parse(text: string, file: string): CompiledRules {
  if (isBlank(text)) throw blankFileError(file, 'is empty', NO_RULES);
  return compileRules(text, file);
}
