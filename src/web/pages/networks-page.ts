import { html, nothing, type TemplateResult } from 'lit';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { type NodeWithNeighbours, networkGroups, signalQuality, type Topology } from './network-topology.ts';

const ROLES: Readonly<Record<string, string>> = {
  Leader: 'leads the network',
  Router: 'passes on for others',
  Reed: 'can pass on for others',
  EndDevice: 'end device',
  SleepyEndDevice: 'sleeps most of the time',
};

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
      <header class="page-head"><h1>Networks</h1><p>How devices reach this hub, as they tell it themselves.</p>
        <button type="button" class="button" ?disabled=${isLoading} @click=${() => this.#load()}>${icon('refresh')}${isLoading ? 'Asking …' : 'Ask again'}</button></header>
      ${remoteDataView(this.#topology, (topology) => this.#groups(topology))}
    `;
  }

  #groups(topology: Topology): TemplateResult {
    if (topology.nodes.length === 0) return html`<p class="quiet center">There are no Matter devices yet.</p>`;
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
        <span class="quiet">${ROLES[role ?? ''] ?? nothing}${rssi === undefined ? nothing : signal(rssi)}${problem ?? nothing}</span>
        ${
          hears.length === 0
            ? nothing
            : html`<ul class="small">${hears.map(
                ({ name: other, rssi: strength, isChild, hearing: { word, isWeak } }) => html`<li class=${isWeak ? 'weak' : 'quiet'}>
                  hears <bdi>${other}</bdi>${isChild ? ', its child' : nothing}: ${word}${strength === undefined ? nothing : ` (${strength} dBm)`}</li>`,
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

function signal(rssi: number): string {
  return `${signalQuality(rssi).word} signal, ${rssi} dBm `;
}

customElements.define('atmo-page-networks', NetworksPage);
