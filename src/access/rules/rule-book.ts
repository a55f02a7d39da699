import type { RuledCall, RuleEngine, RuleVerdict } from '../../core/access/rule-engine.ts';
import type { KnownNames, RuleAdministration, RuleListing, RuleTrial, RuleWarning } from '../../core/access/rules.ts';
import type { DeviceFacts } from '../../core/devices/device-facts.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { EventBus } from '../../core/events.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { Service } from '../../core/service.ts';
import type { AuditSink } from '../../core/storage/audit-sink.ts';
import { keepNote } from '../../core/storage/kept-note.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { TrustedTime } from '../../core/time/trusted-time.ts';
import { sha256Hex } from '../../wire/hashes.ts';
import { type CompiledRules, compileRules, noRules } from './rule-compiler.ts';
import { lintRules } from './rule-lint.ts';
import { RuleSource } from './rule-source.ts';
import { type MinuteOfWeek, shownMinute } from './rule-time.ts';

/** A look costs some microseconds. Watching the directory would wake the hub with every line that its journal writes there. */
const LOOK_AGAIN_MS = 1_000;
/** A file that an editor is still writing is read when it rests. */
const SETTLE_MS = 200;

/** Whom the rules work with. */
export interface RuleBookPorts {
  readonly clock: Clock;
  /** Times of day count by it. */
  readonly time: TrustedTime;
  readonly facts: DeviceFacts;
  readonly events: EventBus;
  readonly audit: AuditSink;
  readonly logger: Logger;
}

/**
 * The owner's rules from their file. They hold from `start`, which refuses a file with mistakes (CONFIG_INVALID); a file
 * that changes later is taken when it is right, and else the rules from before hold on and the owner is told.
 */
export class RuleBook implements RuleEngine, RuleAdministration, Service {
  readonly #ports: RuleBookPorts;
  readonly #source: RuleSource;
  #rules: CompiledRules;
  #hash: string | undefined;
  /** Of the file as it was read. */
  #signature: string | undefined;
  /** As it was at the last look. */
  #seen: string | undefined;
  #problem: string | undefined;
  #cancelLooking: (() => void) | undefined;

  constructor(ports: RuleBookPorts, file: string) {
    this.#ports = ports;
    this.#source = new RuleSource(file);
    this.#rules = noRules();
  }

  async start(): Promise<void> {
    this.#signature = this.#source.signature();
    const text = this.#source.read();
    if (text !== undefined) await this.#note('rules.loaded', this.#take(text));
    this.#lookLater(LOOK_AGAIN_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelLooking?.();
  }

  judge(call: RuledCall): RuleVerdict {
    const { set } = this.#rules;
    if (set.rules.length === 0 && set.default === 'allow') return { kind: 'allow' };
    return set.judge(call, { minute: this.#minute(), facts: this.#ports.facts });
  }

  list(): RuleListing {
    const { set, zone } = this.#rules;
    return {
      file: this.#source.file,
      ...(this.#hash !== undefined && { hash: this.#hash }),
      timezone: zone.zone,
      default: set.default,
      rules: set.rules.map(({ terms: _, ...stated }) => stated),
      ...(this.#problem !== undefined && { problem: this.#problem }),
    };
  }

  test(call: RuledCall, at?: string): RuleTrial {
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

  /** Throws CONFIG_INVALID and changes nothing when the text has a mistake. */
  #take(text: string): JsonObject {
    this.#rules = compileRules(text, this.#source.file);
    this.#hash = sha256Hex(text);
    this.#problem = undefined;
    const { set, zone } = this.#rules;
    this.#ports.logger.info('rules.loaded', { count: set.rules.length, timezone: zone.zone });
    return { hash: this.#hash, count: set.rules.length };
  }

  #lookLater(delayMs: number): void {
    this.#cancelLooking = this.#ports.clock.after(delayMs, () => this.#lookLater(this.#look()));
  }

  /** Answers after how many milliseconds to look again. */
  #look(): number {
    const signature = this.#source.signature();
    if (signature === this.#signature) return LOOK_AGAIN_MS;
    if (signature !== this.#seen) {
      this.#seen = signature;
      return SETTLE_MS;
    }
    this.#signature = signature;
    try {
      this.#reload();
    } catch (error) {
      this.#refuse(toAtmoError(error).message);
    }
    return LOOK_AGAIN_MS;
  }

  #reload(): void {
    const text = this.#source.read();
    if (text === undefined) throw gone(this.#source.file);
    if (sha256Hex(text) === this.#hash && this.#problem === undefined) return;
    const data = this.#take(text);
    this.#ports.events.emit('rules.changed', 'rules', data);
    void this.#note('rules.loaded', data);
  }

  #refuse(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#ports.logger.warn('rules.refused', { reason: problem });
    this.#ports.events.emit('hub.warning', 'rules', { warning: 'rules.refused', reason: problem });
    void this.#note('rules.refused', { reason: problem });
  }

  #note(event: string, data: JsonObject): Promise<void> {
    return keepNote(this.#ports, { event, atMs: this.#ports.time.now(), data });
  }
}

function gone(file: string): AtmoError {
  const advice = 'to have none from now on, leave an empty file';
  return new AtmoError('CONFIG_INVALID', `${file} is gone, and its rules hold on until the hub starts again; ${advice}`, { file });
}
