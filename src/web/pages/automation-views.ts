import { html, nothing, type TemplateResult } from 'lit';
import type { Json } from '../../core/json.ts';
import type { DeviceView } from '../api/hub-types.ts';
import { dateTimeWords } from '../components/formatting.ts';
import { hasText, text } from '../texts/text.ts';
import { type AutomationView, actionWords, conditionWords, type HomeNames, triggerWords } from './automation-words.ts';
import { type Finding, findingsIn, findingWords, fixWords, timelineWords } from './finding-words.ts';

const MAX_RUNS = 20;

/** What an automation does, as it is saved or would be. */
export type DefinitionView = Pick<AutomationView, 'triggers' | 'conditions' | 'actions'>;

/** Returns the rows of a list of facts that say when an automation runs, under which conditions, and what it does. */
export function definitionView({ triggers, conditions, actions }: DefinitionView, names: HomeNames): TemplateResult {
  return html`<dt>${text('automations.when')}</dt><dd><ul>${triggers.map((one) => html`<li>${triggerWords(one, names)}</li>`)}</ul></dd>
    ${conditions.length === 0 ? nothing : html`<dt>${text('automations.if')}</dt><dd><ul>${conditions.map((one) => html`<li>${conditionWords(one, names)}</li>`)}</ul></dd>`}
    <dt>${text('automations.what')}</dt><dd><ul>${actions.map((one) => html`<li>${actionWords(one, names)}</li>`)}</ul></dd>`;
}

/** When an automation would have run, as `replay_automation` returns it. */
export interface PastRuns {
  readonly runs: number;
  /** How many of the runs would have begun between 1 and 5 at night. */
  readonly nights: number;
  readonly since: string;
  /** Of what not everything was kept. */
  readonly incomplete?: readonly { readonly text: string }[];
  readonly list?: readonly { readonly at: string; readonly would: readonly string[] }[];
}

/** Returns a message about a saved automation, such as `evening is saved.`, with the findings that the hub answered about it. */
export function savedWords(done: string, answer: Json, devices: readonly DeviceView[]): string {
  const found = findingsIn(answer);
  if (found.length === 0) return done;
  return text('check.after', { done, count: found.length, what: found.map((one) => findingWords(one, devices)).join(' ') });
}

/** Returns what may go wrong: each finding with the other automations, the times at which each acts, and what to do. */
export function checkView(findings: readonly Finding[], devices: readonly DeviceView[]): TemplateResult {
  return html`<section class="card stack" role="status" aria-label=${text('check.title')}><h2>${text('check.title')}</h2>
    ${findings.length === 0 ? html`<p>${text('check.nothing')}</p>` : html`<ul class="stack">${findings.map((one) => findingView(one, devices))}</ul>`}</section>`;
}

function findingView(finding: Finding, devices: readonly DeviceView[]): TemplateResult {
  const { kind, severity, automations, timeline } = finding;
  const key = `check.kind_${kind}`;
  const nameOf = (id: string) => automations.find(({ agent_id: one }) => one === id)?.name ?? id;
  const lines = timeline.map((entry) => ({ id: entry.agent_id, words: timelineWords(entry, devices) }));
  return html`<li class="stack small">
    <p class="row"><span class="chip ${severity === 'warning' ? 'bad' : ''}">${hasText(key) ? text(key) : kind}</span><span>${findingWords(finding, devices)}</span></p>
    ${lines.map(({ id, words }) => (words === '' ? nothing : html`<p class="quiet"><bdi>${nameOf(id)}</bdi>: ${words}</p>`))}
    <p>${text('check.fix', { fix: fixWords(finding) })}</p></li>`;
}

/** Returns when an automation would have run in the past month. */
export function pastView({ runs, nights, since, incomplete = [], list = [] }: PastRuns): TemplateResult {
  return html`<section class="card stack" role="status" aria-label=${text('check.past')}><h2>${text('check.past')}</h2>
    <p>${text('check.runs', { count: runs, since: dateTimeWords(since) })} ${nights > 0 ? text('check.nights', { count: nights }) : nothing}</p>
    ${incomplete.map((gap) => html`<p class="quiet small">${gap.text}</p>`)}
    ${
      list.length === 0
        ? nothing
        : html`<details><summary>${text('check.list')}</summary><ul class="small">${list
            .slice(0, MAX_RUNS)
            .map(({ at, would }) => html`<li><time datetime=${at}>${dateTimeWords(at)}</time>: ${would.join(', ')}</li>`)}</ul></details>`
    }</section>`;
}
