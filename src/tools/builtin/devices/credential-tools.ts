import { AtmoError } from '../../../core/errors.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { p } from '../../schema/parameter-builder.ts';
import { snakeJson } from '../../schema/snake-json.ts';
import { type AdminPorts, done, FOR_HUB, HUB_ACTS, HUB_READS, SUCCESS } from './admin-declaration.ts';

const nameParameter = p.string({ description: 'Name of the credential set', minLength: 1, maxLength: 64, isGivenName: true });
const setBase = { ...HUB_ACTS, ...FOR_HUB, isIdempotent: true, returns: done };

/** Tools for the network credentials that new devices get; secrets go in and never come out. */
export function credentialTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [listTool(ports), setWifiTool(ports), setThreadTool(ports), importThreadTool(ports), removeTool(ports)];
}

function listTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...FOR_HUB,
      name: 'list_credentials',
      title: 'List network credentials',
      description: 'Lists the stored Wi-Fi and Thread credential sets by name and network, without their secrets.',
      parameters: {},
    },
    async () => snakeJson(administration.credentials()),
  );
}

function setWifiTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...setBase,
      name: 'set_wifi_credentials',
      title: 'Store Wi-Fi credentials',
      description: 'Stores a Wi-Fi network and its password for new devices.',
      parameters: {
        name: nameParameter,
        ssid: p.string({ description: 'Network name', minLength: 1, maxLength: 32 }),
        password: p.string({ description: 'Password of the network', maxLength: 64, secret: true }),
      },
    },
    async ({ name, ssid, password }) => {
      administration.setWifi(name, ssid, password);
      return SUCCESS;
    },
  );
}

function setThreadTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...setBase,
      name: 'set_thread_credentials',
      title: 'Store Thread credentials',
      description: 'Stores a Thread operational dataset for new devices.',
      parameters: {
        name: nameParameter,
        dataset: p.string({ description: 'Active operational dataset, hex', pattern: '^([0-9A-Fa-f]{2}){1,254}$', secret: true }),
      },
    },
    async ({ name, dataset }) => {
      administration.setThread(name, dataset);
      return SUCCESS;
    },
  );
}

function importThreadTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'import_thread_credentials',
      title: 'Import Thread credentials',
      description: 'Takes the active Thread dataset from an OpenThread Border Router.',
      isIdempotent: true,
      parameters: {
        name: nameParameter,
        router_url: p.string({
          description: "Address of the router's REST API, such as http://192.168.1.5:8081",
          format: 'uri',
          maxLength: 256,
        }),
      },
    },
    async ({ name, router_url: url }, { signal }) => snakeJson(await administration.importThread(name, url, { signal })),
  );
}

function removeTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...setBase,
      name: 'remove_credentials',
      title: 'Remove network credentials',
      description: 'Removes a stored credential set.',
      parameters: { name: nameParameter },
    },
    async ({ name }) => {
      if (!administration.removeCredentials(name)) throw new AtmoError('NOT_FOUND', `There is no credential set ${JSON.stringify(name)}`);
      return SUCCESS;
    },
  );
}
