import { html, nothing, type TemplateResult } from 'lit';
import { shortName } from './audit-words.ts';

interface Totals {
  readonly calls: number;
  readonly errors: number;
  readonly mean_ms: number;
  readonly last: string | null;
}

/** What `GET /api/tools/usage` answers. */
export interface Usage {
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

/** The newest calls, one line each. */
export function recentCalls({ recent }: Usage): TemplateResult {
  if (recent.length === 0) return html`<p class="empty">Nobody has called a tool yet.</p>`;
  return html`<section class="card" aria-labelledby="recent-title">
    <h2 id="recent-title">Newest calls</h2>
    <div class="table-wrap" tabindex="0" role="group" aria-labelledby="recent-title"><table>
      <thead><tr><th scope="col">When</th><th scope="col">Tool</th><th scope="col">Agent</th><th scope="col">Took</th><th scope="col">Went</th></tr></thead>
      <tbody>
        ${recent.map(
          ({ ts, tool, agent, duration_ms: tookMs, error }) => html`<tr>
            <td><time datetime=${ts}>${new Date(ts).toLocaleTimeString()}</time></td>
            <td>${shortName(tool)}</td>
            <td><a href="#/activity?agent=${encodeURIComponent(agent)}"><bdi>${agent}</bdi></a></td>
            <td class="number">${Math.round(tookMs)} ms</td>
            <td>${error === undefined ? html`<span class="chip good">well</span>` : html`<span class="chip bad">${error}</span>`}</td>
          </tr>`,
        )}
      </tbody></table></div>
  </section>`;
}

/** What agents and tools come to since the hub counts. */
export function usageTables({ agents, tools }: Usage): TemplateResult {
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
        ${busiest(rows).map(
          (row) => html`<tr>
            <td>${name(row)}</td>
            <td class="number">${row.calls}</td>
            <td class="number">${row.errors}</td>
            <td class="number">${Math.round(row.mean_ms)} ms</td>
          </tr>`,
        )}
      </tbody></table></div></section>`;
}

function busiest<Row extends Totals>(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((a, b) => b.calls - a.calls).slice(0, MAX_ROWS);
}
