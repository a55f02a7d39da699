import type { Risk } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { RECIPES } from '../recipes/recipes.ts';
import { isAdministrative } from './administrative-clusters.ts';
import {
  type Capability,
  type CapabilityFile,
  type DeviceFile,
  type DeviceMatch,
  type DeviceProfile,
  type StatedRisk,
  specificity,
  type ToolEntry,
} from './profile-format.ts';

/** Profile files by their ids. */
export interface ProfileFiles {
  readonly capabilities: Readonly<Record<string, CapabilityFile>>;
  readonly devices: Readonly<Record<string, DeviceFile>>;
}

/** The product and device types of an endpoint, which select its device files. */
export interface MatchSubject {
  readonly vendorId: number;
  readonly productId: number;
  readonly deviceTypes: readonly string[];
}

/** All profiles, indexed for matching. */
export class ProfileSet {
  readonly #capabilities: ReadonlyMap<string, Capability>;
  readonly #usual: ReadonlyMap<string, Capability>;
  readonly #devices: ReadonlyMap<string, DeviceProfile>;

  private constructor(capabilities: ReadonlyMap<string, Capability>, devices: ReadonlyMap<string, DeviceProfile>) {
    this.#capabilities = capabilities;
    this.#usual = usualCapabilities(capabilities.values());
    this.#devices = devices;
  }

  /** Indexes files that match their schemas. Throws CONFIG_INVALID if two files conflict or a device file names an unknown capability. */
  static fromFiles(files: ProfileFiles): ProfileSet {
    const capabilities = new Map(Object.entries(files.capabilities).map(([id, file]) => [id, { ...file, id }]));
    const devices = new Map<string, DeviceProfile>();
    for (const [id, file] of Object.entries(files.devices)) {
      const key = matchKey(file.match);
      const other = devices.get(key);
      if (other) throw invalid(id, `matches the same as devices/${other.id}.json (${key}); make one more specific`);
      const unknown = file.capabilities.find((capability) => !capabilities.has(capability));
      if (unknown !== undefined) throw invalid(id, `names the capability ${JSON.stringify(unknown)}, which has no file`);
      devices.set(key, { ...file, id });
    }
    return new ProfileSet(capabilities, devices);
  }

  capabilities(): readonly Capability[] {
    return [...this.#capabilities.values()];
  }

  devices(): readonly DeviceProfile[] {
    return [...this.#devices.values()];
  }

  capability(id: string): Capability | undefined {
    return this.#capabilities.get(id);
  }

  /** Returns the capability that a cluster gets if no device file names another. */
  usualCapability(cluster: string): Capability | undefined {
    return this.#usual.get(cluster);
  }

  /** Returns the device files of an endpoint, the most specific first: the file of the product, and the best file for each device type. */
  match(subject: MatchSubject): readonly DeviceProfile[] {
    const { vendorId, productId } = subject;
    const product = this.#devices.get(matchKey({ vendorId, productId }));
    const byType = subject.deviceTypes.flatMap((deviceType) => {
      const best = this.#devices.get(matchKey({ vendorId, productId, deviceType })) ?? this.#devices.get(matchKey({ deviceType }));
      return best ?? [];
    });
    const all = product ? [product, ...byType] : byType;
    return all.toSorted((a, b) => specificity(b.match) - specificity(a.match));
  }

  nounFor(subject: MatchSubject): string | undefined {
    const files = this.match(subject);
    return (files.find((file) => !file.utility) ?? files[0])?.noun;
  }

  /** Returns the highest risk that any file states for a command or attribute; undefined if no file states a risk. */
  statedRisk(cluster: string, element: string): StatedRisk | undefined {
    const order: readonly StatedRisk[] = ['none', 'low', 'medium', 'highest', 'dangerous'];
    return this.capabilities()
      .filter((capability) => capability.cluster === cluster)
      .flatMap((capability) => statedRisks(capability, element.toLowerCase()))
      .sort((a, b) => order.indexOf(b) - order.indexOf(a))[0];
  }

  /** Returns the risk of a command without regard to the device; `medium` if no file states a risk. */
  riskOf(cluster: string, command: string): Risk {
    const stated = this.statedRisk(cluster, command) ?? 'medium';
    // `highest` depends on the other tools of an endpoint, which are unknown here. So the risk is dangerous.
    return stated === 'highest' || isAdministrative(cluster) ? 'dangerous' : stated;
  }
}

function statedRisks(capability: Capability, element: string): readonly StatedRisk[] {
  const listed = Object.entries(capability.risks ?? {}).flatMap(([name, risk]) => (name.toLowerCase() === element ? [risk] : []));
  const used = Object.values(capability.tools ?? {}).filter((tool) => elementsOf(tool).some((name) => name.toLowerCase() === element));
  return [...listed, ...used.map((tool) => tool.risk)];
}

/** Returns the match as `vendor:product:type`, with `*` for each absent member. */
export function matchKey(match: DeviceMatch): string {
  return `${match.vendorId ?? '*'}:${match.productId ?? '*'}:${match.deviceType ?? '*'}`;
}

function usualCapabilities(capabilities: Iterable<Capability>): ReadonlyMap<string, Capability> {
  const usual = new Map<string, Capability>();
  for (const capability of capabilities) {
    if (capability.variant) continue;
    const other = usual.get(capability.cluster);
    if (other) {
      throw new AtmoError(
        'CONFIG_INVALID',
        `capabilities/${capability.id}.json and capabilities/${other.id}.json are both the usual one for ${capability.cluster}; mark one with "variant": true`,
      );
    }
    usual.set(capability.cluster, capability);
  }
  return usual;
}

function invalid(id: string, problem: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', `devices/${id}.json ${problem}`);
}

/** Returns the commands and attributes that a tool of a capability file may use. */
export function elementsOf(tool: ToolEntry): readonly string[] {
  if (tool.command !== undefined) return [tool.command];
  return tool.recipe === undefined ? (tool.write ?? []) : RECIPES[tool.recipe].elements;
}
