import { html, type TemplateResult } from 'lit';
import { until } from 'lit/directives/until.js';

const QUIET_MODULES = 4;

/** A text as QR code, black on white in every theme: cameras want it so. */
export function qrFigure(text: string, label: string): TemplateResult {
  return html`<figure class="qr" role="img" aria-label=${label}>${until(drawing(text), html`<p class="quiet">One moment …</p>`)}</figure>`;
}

async function drawing(text: string): Promise<TemplateResult> {
  const { default: encodeQR } = await import('qr');
  const modules = encodeQR(text, 'raw', { border: QUIET_MODULES });
  const path = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return html`<svg viewBox="0 0 ${modules.length} ${modules.length}" shape-rendering="crispEdges"><path d=${path}></path></svg>`;
}
