import { html, nothing, type TemplateResult } from 'lit';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { text, textWith } from '../texts/text.ts';
import { type NodeWithNeighbours, networkGroups, signalQuality, type Topology } from './network-topology.ts';

const ROLES = ['Leader', 'Router', 'Reed', 'EndDevice', 'SleepyEndDevice'] as const;

/** Page about the Thread and Wi-Fi networks of the devices. It also shows how well their radios receive each other. */
export class NetworksPage extends PageElement {
  readonly #topology = new RemoteData<Topology>(() => this.requestUpdate());

  protected override connected(): readonly Stop[] {
    this.#load();
    return super.connected();
  }

  protected override render(): TemplateResult {
    const isLoading = this.#topology.isLoading;
    return html`
      <header class="page-head"><h1>${text('networks.title')}</h1><p>${text('networks.about')}</p>
        <button type="button" class="button" ?disabled=${isLoading} @click=${() => this.#load()}>${icon('refresh')}${isLoading ? text('networks.asking') : text('networks.ask_again')}</button></header>
      ${remoteDataView(this.#topology, (topology) => this.#groups(topology))}
    `;
  }

  #groups(topology: Topology): TemplateResult {
    if (topology.nodes.length === 0) return html`<p class="quiet center">${text('networks.no_devices')}</p>`;
    return html`<div class="stack">${networkGroups(topology).map(
      ({ title, nodes }) => html`<section class="card">
        <h2><bdi>${title}</bdi></h2>
        <ul class="hubs">${nodes.map((node) => this.#node(node))}</ul>
      </section>`,
    )}</div>`;
  }

  #node({ node, hears }: NodeWithNeighbours): TemplateResult {
    const { device, name, role, rssi, problem } = node;
    const state = problem !== undefined || signalQuality(rssi).isWeak ? 'bad' : 'good';
    return html`<li class="row">
      <span class="dot ${state}" aria-hidden="true"></span>
      <span class="grow">
        ${device === undefined ? html`<strong><bdi>${name}</bdi></strong>` : html`<a href="#/devices/${device}"><strong><bdi>${name}</bdi></strong></a>`}
        <span class="quiet">${roleWords(role)}${rssi === undefined ? nothing : signal(rssi)}${problem ?? nothing}</span>
        ${
          hears.length === 0
            ? nothing
            : html`<ul class="small">${hears.map(
                ({ name: other, rssi: strength, isChild, hearing: { word, isWeak } }) => html`<li class=${isWeak ? 'weak' : 'quiet'}>
                  ${textWith(isChild ? 'networks.hears_child' : 'networks.hears', { name: html`<bdi>${other}</bdi>` })}: ${text(`networks.signal_${word}`)}${strength === undefined ? nothing : ` (${strength} dBm)`}</li>`,
              )}</ul>`
        }
      </span>
    </li>`;
  }

  #load(): void {
    const question = async () =>
      ((await this.app.hub.invoke('hub:network_topology', {})) ?? { nodes: [], links: [] }) as unknown as Topology;
    void this.#topology.load(question);
  }
}

function roleWords(role: string | undefined): string {
  const known = ROLES.find((one) => one === role);
  return known ? text(`networks.role_${known}`) : '';
}

function signal(rssi: number): string {
  return `${text('networks.signal', { quality: text(`networks.signal_${signalQuality(rssi).word}`), rssi })} `;
}

customElements.define('atmo-page-networks', NetworksPage);
