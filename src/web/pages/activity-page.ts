import './undo-views.ts';
import { html, nothing, type TemplateResult } from 'lit';
import type { AuditRow } from '../../core/storage/audit-log.ts';
import type { UndoableCalls } from '../api/undo.ts';
import type { App } from '../app.ts';
import { formValues, inputValue } from '../components/form-values.ts';
import { dateTimeWords, timeWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { lazyContent, lazyJson } from '../components/text-block.ts';
import { text, textWith } from '../texts/text.ts';
import { type Activity, activitiesOf } from './activity-sentences.ts';
import { type AuditFilter, auditLine, auditPath, NO_FILTER, shortName } from './audit-rows.ts';

interface AuditPage {
  readonly rows: readonly AuditRow[];
  readonly next_before?: number;
}

interface Verdict {
  readonly intact: boolean;
  readonly rows: number;
  readonly problem?: { readonly seq: number; readonly reason: string };
}

const RECENT_ROWS = '/api/v1/audit?limit=200';
/** After a call, the page waits this many milliseconds before it loads the newest calls. A list that changes more often is hard to read. */
const REFRESH_MS = 2_000;
/** An activity has a button that undoes it for this time, milliseconds. Later, the button is in its details and in the journal. */
const UNDO_MS = 600_000;

/** Page with what happened in sentences, the totals of each tool and agent, and the audit log. A button verifies the audit log. */
export class ActivityPage extends PageElement {
  readonly #usage = new RemoteData<Usage>(() => this.requestUpdate());
  readonly #recent = new RemoteData<AuditPage>(() => this.requestUpdate());
  readonly #journal = new RemoteData<AuditPage>(() => this.requestUpdate());
  readonly #verdict = new RemoteData<Verdict>(() => this.requestUpdate());
  #filter: AuditFilter = NO_FILTER;
  #withReads = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  protected override connected(): readonly Stop[] {
    this.#loadUsage();
    const stop = this.app.store.onEvent(({ type }) => {
      if (type === 'agi.tool.result' || type === 'agi.tool.failed') this.#loadUsageSoon();
    });
    return [...super.connected(), stop, () => this.#stopTimer()];
  }

  /** Loads the audit log when the route changes, for example because a person followed the link of an agent in the list. */
  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (!changes.has('params')) return;
    this.#filter = { ...NO_FILTER, agent: this.params.agent ?? '' };
    this.#loadJournal();
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>${text('activity.title')}</h1><p>${text('activity.about')}</p></header>
      <div class="stack">
        ${this.#happened()}
        ${remoteDataView(this.#usage, usageTables)}
        <section class="card" aria-labelledby="journal-title">
          <header><h2 id="journal-title">${text('activity.journal')}</h2>
            <button type="button" class="button small" ?disabled=${this.#verdict.isLoading} @click=${() => this.#verify()}>${icon('shield')}${text('activity.verify')}</button></header>
          ${remoteDataView(this.#verdict, verdictView)} ${this.#filterForm()} ${remoteDataView(this.#journal, (page) => this.#rows(page))}
        </section>
      </div>
    `;
  }

  #filterForm(): TemplateResult {
    const { agent, tool, kind } = this.#filter;
    return html`
      <form class="filters" role="search" aria-label=${text('activity.journal')} @submit=${(event: SubmitEvent) => this.#narrow(formValues(event))}>
        <label class="field"><span class="label">${text('activity.agent')}</span><input name="agent" .value=${agent} autocomplete="off" /></label>
        <label class="field"><span class="label">${text('activity.tool')}</span><input name="tool" .value=${tool} autocomplete="off" placeholder="matter:…" /></label>
        <label class="field"><span class="label">${text('activity.rows')}</span>
          <select name="kind">${KINDS.map((one) => html`<option value=${one} ?selected=${one === kind}>${text(`activity.kind_${one === '' ? 'all' : one}`)}</option>`)}</select></label>
        <button type="submit" class="button">${icon('search')}${text('activity.show')}</button>
      </form>
    `;
  }

  #rows({ rows, next_before: nextBefore }: AuditPage): TemplateResult {
    if (rows.length === 0) return html`<p class="quiet">${text('activity.no_rows')}</p>`;
    return html`
      <ol class="log" aria-label=${text('activity.journal')} aria-busy=${this.#journal.isLoading}>${rows.map((row) => rowView(row, this.app))}</ol>
      ${nextBefore === undefined ? nothing : html`<button type="button" class="button" @click=${() => this.#loadOlder(nextBefore)}>${text('activity.older')}</button>`}
    `;
  }

  #narrow(fields: Readonly<Record<string, string>>): void {
    this.#filter = { ...NO_FILTER, ...fields };
    this.#loadJournal();
  }

  #loadUsageSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#loadUsage();
    }, REFRESH_MS);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Shows the newest calls as sentences. */
  #happened(): TemplateResult {
    const { devices } = this.app.store.state;
    const toggle = (event: Event) => {
      this.#withReads = inputValue(event) === 'on';
      this.requestUpdate();
    };
    return html`<section class="card" aria-labelledby="happened-title">
      <header><h2 id="happened-title">${text('activity.happened')}</h2>
        <label class="check"><input type="checkbox" .checked=${this.#withReads} @change=${toggle} /><span>${text('activity.with_reads')}</span></label></header>
      ${remoteDataView(this.#recent, ({ rows }) => sentencesView(activitiesOf(rows, { devices, withReads: this.#withReads }), this.app))}
    </section>`;
  }

  #loadUsage(): void {
    void this.#recent.load(() => this.app.hub.get<AuditPage>(RECENT_ROWS));
    void this.#usage.load(() => this.app.hub.get<Usage>('/api/tools/usage?limit=20'));
  }

  #loadJournal(): void {
    void this.#journal.load(() => this.app.hub.get<AuditPage>(auditPath(this.#filter)));
  }

  #loadOlder(before: number): void {
    const shown = this.#journal.value?.rows ?? [];
    void this.#journal.load(async () => {
      const page = await this.app.hub.get<AuditPage>(auditPath(this.#filter, before));
      return { ...page, rows: [...shown, ...page.rows] };
    });
  }

  #verify(): void {
    void this.#verdict.load(async () => (await this.app.hub.post('/api/v1/audit/verify')) as unknown as Verdict);
  }
}

customElements.define('atmo-page-activity', ActivityPage);

function verdictView({ intact, rows, problem }: Verdict): TemplateResult {
  if (intact)
    return html`<p role="status"><span class="chip good">${text('activity.intact')}</span> ${text('activity.chain_fits', { count: rows })}</p>`;
  return html`<p class="alert" role="alert">${icon('warning')}${text('activity.changed', { row: problem?.seq ?? 0, reason: problem?.reason ?? '' })}</p>`;
}

const TONES = { asked: '', done: 'good', failed: 'bad', refused: 'bad', noted: 'cool' } as const;

function rowView(row: AuditRow, app: App): TemplateResult {
  const { verdict, subject, detail } = auditLine(row, app.store.state.devices);
  const { kind, trace, content } = row;
  const calls = kind === 'intent' && trace !== undefined && content.before !== undefined ? { traceId: trace, label: subject } : undefined;
  return html`<li>
    <details>
      <summary>
        <time datetime=${row.at}>${dateTimeWords(row.at)}</time> <span class="chip ${TONES[verdict]}">${text(`activity.verdict_${verdict}`)}</span>
        <span class="subject"><bdi>${subject}</bdi>${row.agent === undefined ? nothing : html` <span class="quiet">${textWith('activity.by', { agent: html`<bdi>${row.agent}</bdi>` })}</span>`}</span>
        ${detail === '' ? nothing : html`<span class="detail quiet"><bdi>${detail}</bdi></span>`}
      </summary>
      ${calls ? lazyContent(() => html`<atmo-undo-facts .app=${app} .calls=${calls}></atmo-undo-facts>`) : nothing}
      ${lazyJson(row)}
    </details>
  </li>`;
}

interface Totals {
  readonly calls: number;
  readonly errors: number;
  readonly mean_ms: number;
  readonly last: string | null;
}

/** The result of `GET /api/tools/usage`. */
interface Usage {
  readonly tools: readonly (Totals & { readonly tool: string })[];
  readonly agents: readonly (Totals & { readonly agent: string })[];
}

const MAX_ROWS = 10;
const MAX_SENTENCES = 25;
const KINDS = ['', 'intent', 'outcome', 'refusal', 'note'] as const;

function sentencesView(activities: readonly Activity[], app: App): TemplateResult {
  if (activities.length === 0) return html`<p class="empty">${text('activity.nothing')}</p>`;
  return html`<ol class="log sentences" aria-label=${text('activity.happened')}>${activities.slice(0, MAX_SENTENCES).map((activity) => sentenceView(activity, app))}</ol>`;
}

function sentenceView(activity: Activity, app: App): TemplateResult {
  const { at, agent, sentence, devices, tool, state, reason, approvedBy, rows, undo } = activity;
  const values = {
    agent: html`<bdi>${agent}</bdi>`,
    devices: html`<bdi>${devices}</bdi>`,
    tool: html`<bdi>${tool}</bdi>`,
  };
  const isBad = state === 'failed' || state === 'refused';
  const calls = undo && { traceId: undo.traceId, calls: undo.calls, label: text(sentence, { agent, devices, tool }) };
  return html`<li class="activity">
    <details>
      <summary><span class="sentence">${textWith(sentence, values)}</span><span class="quiet">, <time datetime=${at}>${timeWords(at)}</time>${
        approvedBy === '' ? nothing : html`, ${text('activity.approved_by', { people: approvedBy })}`
      }</span>
        ${isBad ? html`<span class="chip bad">${text(`activity.state_${state}`)}</span>` : nothing}
        ${undo?.state === 'undone' ? html`<span class="chip">${text('undo.undone')}</span>` : nothing}
        ${isBad && reason !== '' ? html`<span class="detail quiet"><bdi>${reason}</bdi></span>` : nothing}
      </summary>
      ${calls ? lazyContent(() => html`<atmo-undo-facts .app=${app} .calls=${calls}></atmo-undo-facts>`) : nothing}
      ${lazyJson(rows)}
    </details>
    ${calls && isUndoable(activity) ? undoButton(calls, app) : nothing}
  </li>`;
}

/** Returns whether an activity is young enough for a button beside it. One that failed may have done a part. */
function isUndoable({ at, undo }: Activity): boolean {
  return undo?.state === 'possible' && Date.now() - Date.parse(at) < UNDO_MS;
}

function undoButton(calls: UndoableCalls, { undo }: App): TemplateResult {
  return html`<button type="button" class="button small" aria-label=${text('undo.undo_thing', { label: calls.label })} @click=${() => void undo.undo(calls)}>
    ${text('undo.undo')}</button>`;
}

/** Returns two tables with the totals of each agent and of each tool. */
function usageTables({ agents, tools }: Usage): TemplateResult {
  return html`<div class="columns">
    ${totalsTable(text('agents.title'), agents, ({ agent }) => html`<a href="#/activity?agent=${encodeURIComponent(agent)}"><bdi>${agent}</bdi></a>`)}
    ${totalsTable(text('activity.most_used'), tools, ({ tool }) => html`${shortName(tool)}`)}
  </div>`;
}

function totalsTable<Row extends Totals>(
  title: string,
  rows: readonly Row[],
  name: (row: Row) => TemplateResult,
): TemplateResult | typeof nothing {
  if (rows.length === 0) return nothing;
  return html`<section class="card"><h2>${title}</h2>
    <div class="table-wrap" tabindex="0" role="group" aria-label=${title}><table>
      <thead><tr>${(['name', 'calls', 'errors', 'mean'] as const).map((column) => html`<th scope="col">${text(`activity.column_${column}`)}</th>`)}</tr></thead>
      <tbody>
        ${rows
          .toSorted((a, b) => b.calls - a.calls)
          .slice(0, MAX_ROWS)
          .map(
            (row) => html`<tr>
            <td>${name(row)}</td>
            <td class="number">${row.calls}</td>
            <td class="number">${row.errors}</td>
            <td class="number">${Math.round(row.mean_ms)} ms</td>
          </tr>`,
          )}
      </tbody></table></div></section>`;
}
