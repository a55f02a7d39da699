import { html, nothing, type TemplateResult } from 'lit';
import type { AuditRow } from '../../../core/storage/audit-log.ts';
import type { DeviceView } from '../../api/hub-types.ts';
import { icon } from '../../parts/icon.ts';
import { PageElement } from '../../parts/page-element.ts';
import { Asked } from '../asked.ts';
import { askedView } from '../asked-view.ts';
import { fieldsOf } from '../field-value.ts';
import '../unfolded.ts';
import { type AuditFilter, auditPath, NO_FILTER } from './audit-path.ts';
import { auditLine } from './audit-words.ts';
import { recentCalls, type Usage, usageTables } from './usage-view.ts';

interface AuditPage {
  readonly rows: readonly AuditRow[];
  readonly next_before?: number;
}

interface Verdict {
  readonly intact: boolean;
  readonly rows: number;
  readonly problem?: { readonly seq: number; readonly reason: string };
}

/** The newest calls change by the second while an agent works; more often than this nobody can read them. */
const REFRESH_MS = 2_000;

/** Who called what: the newest calls, what tools and agents come to, and the journal with its proof. */
export class ActivityPage extends PageElement {
  readonly #usage = new Asked<Usage>(() => this.requestUpdate());
  readonly #journal = new Asked<AuditPage>(() => this.requestUpdate());
  readonly #verdict = new Asked<Verdict>(() => this.requestUpdate());
  #filter: AuditFilter = NO_FILTER;
  #stop: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#askUsage();
    this.#stop = this.app.store.onEvent(({ type }) => {
      if (type === 'agi.tool.result' || type === 'agi.tool.failed') this.#askSoon();
    });
  }

  /** A link of the list names an agent while the page is shown. */
  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    if (!changes.has('params')) return;
    this.#filter = { ...NO_FILTER, agent: this.params.agent ?? '' };
    this.#askJournal();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop?.();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>Activity</h1><p>Who called what, and how it went.</p></header>
      <div class="stack">
        ${askedView(this.#usage, (usage) => html`${recentCalls(usage)} ${usageTables(usage)}`)}
        <section class="card" aria-labelledby="journal-title">
          <header><h2 id="journal-title">Journal</h2>
            <button type="button" class="button small" ?disabled=${this.#verdict.isAsking} @click=${() => this.#verify()}>${icon('shield')}Verify</button></header>
          ${askedView(this.#verdict, verdictView)} ${this.#filterForm()} ${askedView(this.#journal, (page) => this.#rows(page))}
        </section>
      </div>
    `;
  }

  #filterForm(): TemplateResult {
    const { agent, tool, kind } = this.#filter;
    const kinds = { '': 'Everything', intent: 'Calls', outcome: 'Outcomes', refusal: 'Refusals', note: 'Notes' };
    return html`
      <form class="filters" role="search" aria-label="Journal" @submit=${(event: SubmitEvent) => this.#narrow(fieldsOf(event))}>
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
      <ol class="log" aria-label="Journal" aria-busy=${this.#journal.isAsking}>${rows.map((row) => rowView(row, this.app.store.state.devices))}</ol>
      ${nextBefore === undefined ? nothing : html`<button type="button" class="button" @click=${() => this.#askOlder(nextBefore)}>Older rows</button>`}
    `;
  }

  #narrow(fields: Readonly<Record<string, string>>): void {
    this.#filter = { ...NO_FILTER, ...fields };
    this.#askJournal();
  }

  #askSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#askUsage();
    }, REFRESH_MS);
  }

  #askUsage(): void {
    void this.#usage.ask(() => this.app.hub.get<Usage>('/api/tools/usage?limit=20'));
  }

  #askJournal(): void {
    void this.#journal.ask(() => this.app.hub.get<AuditPage>(auditPath(this.#filter)));
  }

  /** Adds the rows before the last one that is shown. */
  #askOlder(before: number): void {
    const shown = this.#journal.value?.rows ?? [];
    void this.#journal.ask(async () => {
      const page = await this.app.hub.get<AuditPage>(auditPath(this.#filter, before));
      return { ...page, rows: [...shown, ...page.rows] };
    });
  }

  #verify(): void {
    void this.#verdict.ask(async () => (await this.app.hub.post('/api/v1/audit/verify')) as unknown as Verdict);
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
        <time datetime=${row.at}>${new Date(row.at).toLocaleString()}</time> <span class="chip ${TONES[verdict]}">${verdict}</span>
        <span class="subject"><bdi>${subject}</bdi>${row.agent === undefined ? nothing : html` <span class="quiet">by <bdi>${row.agent}</bdi></span>`}</span>
        ${detail === '' ? nothing : html`<span class="detail quiet"><bdi>${detail}</bdi></span>`}
      </summary>
      <atmo-unfolded .value=${row}></atmo-unfolded>
    </details>
  </li>`;
}
