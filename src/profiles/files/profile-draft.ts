import type { ClusterDescription, DeviceDescription } from '../../core/devices/device-model.ts';
import { readableWords, snakeCase } from '../../core/devices/matter-names.ts';
import { slug } from '../../core/ids.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import { plain } from '../../core/untrusted-text.ts';
import { propertiesOf, rawKind, requiredOf } from '../values/converter.ts';
import { isAdministrative } from './administrative-clusters.ts';
import type { DraftFile } from './profile-format.ts';
import type { ProfileSet } from './profile-set.ts';

/**
 * Returns drafts of profile files: a device file for the product, and a capability file for each application cluster without a profile. A
 * person must review the drafts: each tool has medium risk, and the names come from the Matter model.
 */
export function draftProfile(description: DeviceDescription, profiles: ProfileSet): readonly DraftFile[] {
  const { device } = description;
  const clusters = description.endpoints.flatMap((endpoint) => endpoint.clusters).filter((cluster) => !isAdministrative(cluster.name));
  const unknown = unique(clusters.filter((cluster) => !profiles.usualCapability(cluster.name)));
  const types = description.endpoints.flatMap((endpoint) => endpoint.deviceTypes.map((type) => type.name));
  const byType = profiles.match({ vendorId: -1, productId: -1, deviceTypes: types });
  const named = byType.flatMap((profile) => profile.capabilities);
  const covered = new Set(named.flatMap((id) => profiles.capability(id)?.cluster ?? []));
  const rest = unique(clusters).filter((cluster) => !covered.has(cluster.name));
  const own = rest.flatMap((cluster) => profiles.usualCapability(cluster.name)?.id ?? fileId(cluster.name));
  const present = named.filter((id) => clusters.some((cluster) => cluster.name === profiles.capability(id)?.cluster));
  const title = plain(`${device.vendor.name} ${device.product.name}`).trim() || device.id;
  const file: DraftFile = {
    path: `devices/${slug(title, '-') || device.id}.json`,
    content: {
      $schema: '../device.schema.json',
      title: title.slice(0, 60),
      noun: byType[0]?.noun ?? readableWords(device.deviceTypes[0] ?? 'device'),
      match: { vendorId: device.vendor.id, productId: device.product.id },
      capabilities: [...new Set([...present, ...own])],
    },
  };
  return [file, ...unknown.map(draftCapability)];
}

function draftCapability(cluster: ClusterDescription): DraftFile {
  const readable = cluster.attributes.filter((attribute) => !['list', 'struct', 'any', 'octets'].includes(rawKind(attribute.schema)));
  const values = readable.map((attribute) => [name(attribute.name), { attribute: attribute.name, title: titled(attribute.name) }]);
  const tools = cluster.commands.map((command) => [name(`send_${snakeCase(command.name)}`), draftTool(command.name, command.parameters)]);
  return {
    path: `capabilities/${fileId(cluster.name)}.json`,
    content: {
      $schema: '../capability.schema.json',
      title: titled(cluster.name).slice(0, 60),
      cluster: cluster.name,
      ...(values.length > 0 && { values: Object.fromEntries(values) }),
      ...(tools.length > 0 && { tools: Object.fromEntries(tools) }),
    },
  };
}

function draftTool(command: string, parameters: JsonSchema): JsonObject {
  const required = requiredOf(parameters);
  const fields = Object.keys(propertiesOf(parameters));
  const params = fields.map((field) => {
    const pascal = field.charAt(0).toUpperCase() + field.slice(1);
    return [name(snakeCase(field)), { field: pascal, description: titled(pascal), ...(!required.includes(field) && { optional: true }) }];
  });
  return {
    title: titled(command).slice(0, 60),
    description: `Sends ${command} to {device}.`,
    risk: 'medium',
    command,
    ...(params.length > 0 && { params: Object.fromEntries(params) }),
  };
}

function unique(clusters: readonly ClusterDescription[]): readonly ClusterDescription[] {
  return [...new Map(clusters.map((cluster) => [cluster.name, cluster])).values()];
}

function fileId(cluster: string): string {
  return snakeCase(cluster).replaceAll('_', '-');
}

function name(text: string): string {
  const full = snakeCase(text);
  return (/^[a-z]/.test(full) ? full : `value_${full}`).slice(0, 28).replace(/_+$/, '');
}

function titled(text: string): string {
  const plainWords = readableWords(text);
  return plainWords.charAt(0).toUpperCase() + plainWords.slice(1);
}
