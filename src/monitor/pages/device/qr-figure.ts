import { html, type TemplateResult } from 'lit';
import { until } from 'lit/directives/until.js';
import type { HubClient } from '../../api/hub-client.ts';

const QUIET_MODULES = 4;

/** A text as QR code, black on white in every theme: cameras want it so. */
export function qrFigure(text: string, { label, hub }: { readonly label: string; readonly hub: Pick<HubClient, 'part'> }): TemplateResult {
  return html`<figure class="qr" role="img" aria-label=${label}>${until(drawing(text, hub), html`<p class="quiet">One moment …</p>`)}</figure>`;
}

async function drawing(text: string, hub: Pick<HubClient, 'part'>): Promise<TemplateResult> {
  const { default: encodeQR } = await hub.part(() => import('qr'));
  const modules = encodeQR(text, 'raw', { border: QUIET_MODULES });
  const path = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return html`<svg viewBox="0 0 ${modules.length} ${modules.length}" shape-rendering="crispEdges"><path d=${path}></path></svg>`;
}
