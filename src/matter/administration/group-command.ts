import { Matter, type Model, type ValueModel } from '@matter/main/model';
import { withUsualOptions } from '../../core/devices/command-options.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { standardClusterShape } from '../model/standard-model.ts';
import { fromJson } from '../model/value-codec.ts';
import type { GroupCommand } from './group-cast.ts';

/**
 * A command of a standard cluster with its fields checked, ready to be cast. Options may be left out. NOT_SUPPORTED names what there is;
 * VALIDATION_ERROR as for the same command to one device. Timed commands cannot be cast (Core §8.7.2.2).
 */
export function groupCommand(cluster: string, command: string, fields: JsonObject): GroupCommand {
  const shape = standardClusterShape(cluster);
  const found = shape?.commands.get(command);
  const model = Matter.clusters(cluster)?.commands(command);
  if (!shape || !found || !model) {
    const known = shape ? [...shape.commands.keys()] : [];
    throw new AtmoError(
      'NOT_SUPPORTED',
      `The standard has no command ${cluster}.${command}; ${known.length > 0 ? `it has ${known.join(', ')}` : 'no such cluster'}`,
      { known },
    );
  }
  if (found.facts.timed)
    throw new AtmoError('NOT_SUPPORTED', `${cluster}.${command} needs a timed request, which a group cannot take; call each member`);
  const required = found.request.fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  const converted = fromJson(found.request, withUsualOptions(fields, required));
  const schema = model as Model as ValueModel;
  return { clusterId: shape.id, commandId: found.id, schema, fields: found.request.fields.length > 0 ? converted : undefined };
}
