import { html, nothing, type TemplateResult } from 'lit';
import type { AuditRow } from '../../core/storage/audit-log.ts';
import type { DeviceView } from '../api/hub-types.ts';
import { formValues } from '../components/form-values.ts';
import { dateTimeWords, secondsWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { lazyJson } from '../components/text-block.ts';
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

/** After a call, the page waits this many milliseconds before it loads the newest calls. A list that changes more often is hard to read. */
const REFRESH_MS = 2_000;

/** Page with the newest calls, the totals of each tool and agent, and the audit log. A button verifies the audit log. */
export class ActivityPage extends PageElement {
  readonly #usage = new RemoteData<Usage>(() => this.requestUpdate());
  readonly #journal = new RemoteData<AuditPage>(() => this.requestUpdate());
  readonly #verdict = new RemoteData<Verdict>(() => this.requestUpdate());
  #filter: AuditFilter = NO_FILTER;
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
      <header class="page-head"><h1>Activity</h1><p>Who called what, and how it went.</p></header>
      <div class="stack">
        ${remoteDataView(this.#usage, (usage) => html`${recentCalls(usage)} ${usageTables(usage)}`)}
        <section class="card" aria-labelledby="journal-title">
          <header><h2 id="journal-title">Journal</h2>
            <button type="button" class="button small" ?disabled=${this.#verdict.isLoading} @click=${() => this.#verify()}>${icon('shield')}Verify</button></header>
          ${remoteDataView(this.#verdict, verdictView)} ${this.#filterForm()} ${remoteDataView(this.#journal, (page) => this.#rows(page))}
        </section>
      </div>
    `;
  }

  #filterForm(): TemplateResult {
    const { agent, tool, kind } = this.#filter;
    const kinds = { '': 'Everything', intent: 'Calls', outcome: 'Outcomes', refusal: 'Refusals', note: 'Notes' };
    return html`
      <form class="filters" role="search" aria-label="Journal" @submit=${(event: SubmitEvent) => this.#narrow(formValues(event))}>
        <label class="field"><span class="label">Agent</span><input name="agent" .value=${agent} autocomplete="off" /></label>
        <label class="field"><span class="label">Tool</span><input name="tool" .value=${tool} autocomplete="off" placeholder="matter:…" /></label>
        <label class="field"><span class="label">Rows</span>
          <select name="kind">${Object.entries(kinds).map(([value, title]) => html`<option value=${value} ?selected=${value === kind}>${title}</option>`)}</select></label>
        <button type="submit" class="button">${icon('search')}Show</button>
      </form>
    `;
  }

  #rows({ rows, next_before: nextBefore }: AuditPage): TemplateResult {
    if (rows.length === 0) return html`<p class="quiet">The journal has no such rows.</p>`;
    return html`
      <ol class="log" aria-label="Journal" aria-busy=${this.#journal.isLoading}>${rows.map((row) => rowView(row, this.app.store.state.devices))}</ol>
      ${nextBefore === undefined ? nothing : html`<button type="button" class="button" @click=${() => this.#loadOlder(nextBefore)}>Older rows</button>`}
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

  #loadUsage(): void {
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
  if (intact) return html`<p role="status"><span class="chip good">intact</span> All ${rows} rows fit their chain.</p>`;
  return html`<p class="alert" role="alert">${icon('warning')}The journal was changed: row ${problem?.seq}, ${problem?.reason}</p>`;
}

const TONES = { asked: '', done: 'good', failed: 'bad', refused: 'bad', noted: 'cool' } as const;

function rowView(row: AuditRow, devices: readonly DeviceView[]): TemplateResult {
  const { verdict, subject, detail } = auditLine(row, devices);
  return html`<li>
    <details>
      <summary>
        <time datetime=${row.at}>${dateTimeWords(row.at)}</time> <span class="chip ${TONES[verdict]}">${verdict}</span>
        <span class="subject"><bdi>${subject}</bdi>${row.agent === undefined ? nothing : html` <span class="quiet">by <bdi>${row.agent}</bdi></span>`}</span>
        ${detail === '' ? nothing : html`<span class="detail quiet"><bdi>${detail}</bdi></span>`}
      </summary>
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
  readonly recent: readonly {
    readonly ts: string;
    readonly tool: string;
    readonly agent: string;
    readonly duration_ms: number;
    readonly error?: string;
  }[];
}

const MAX_ROWS = 10;

function recentCalls({ recent }: Usage): TemplateResult {
  if (recent.length === 0) return html`<p class="empty">Nobody has called a tool yet.</p>`;
  return html`<section class="card" aria-labelledby="recent-title">
    <h2 id="recent-title">Newest calls</h2>
    <div class="table-wrap" tabindex="0" role="group" aria-labelledby="recent-title"><table>
      <thead><tr><th scope="col">When</th><th scope="col">Tool</th><th scope="col">Agent</th><th scope="col">Took</th><th scope="col">Went</th></tr></thead>
      <tbody>
        ${recent.map(
          ({ ts, tool, agent, duration_ms: tookMs, error }) => html`<tr>
            <td><time datetime=${ts}>${secondsWords(ts)}</time></td>
            <td>${shortName(tool)}</td>
            <td><a href="#/activity?agent=${encodeURIComponent(agent)}"><bdi>${agent}</bdi></a></td>
            <td class="number">${Math.round(tookMs)} ms</td>
            <td>${error === undefined ? html`<span class="chip good">well</span>` : html`<span class="chip bad">${error}</span>`}</td>
          </tr>`,
        )}
      </tbody></table></div>
  </section>`;
}

/** Returns two tables with the totals of each agent and of each tool. */
function usageTables({ agents, tools }: Usage): TemplateResult {
  return html`<div class="columns">
    ${totalsTable('Agents', agents, ({ agent }) => html`<bdi>${agent}</bdi>`)}
    ${totalsTable('Most used tools', tools, ({ tool }) => html`${shortName(tool)}`)}
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
      <thead><tr><th scope="col">Name</th><th scope="col">Calls</th><th scope="col">Errors</th><th scope="col">Mean</th></tr></thead>
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
