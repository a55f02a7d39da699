import type { RegisteredTool } from '../../definition/tool-definition.ts';
import type { AdminPorts } from './admin-declaration.ts';
import { bindingTools } from './binding-tools.ts';
import { commissionTools } from './commission-tools.ts';
import { credentialTools } from './credential-tools.ts';
import { deviceNameTools } from './device-name-tools.ts';
import { deviceTools } from './device-tools.ts';
import { fabricTools } from './fabric-tools.ts';
import { groupTools } from './group-tools.ts';
import { topologyTool } from './topology-tool.ts';
import { updateTools } from './update-tools.ts';

/** All tools of the namespace `hub`: what an administrator does with devices (design 5). */
export function deviceAdminTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [
    ...commissionTools(ports),
    ...deviceTools(ports),
    ...deviceNameTools(ports.naming),
    ...fabricTools(ports),
    ...groupTools(ports),
    ...bindingTools(ports),
    ...credentialTools(ports),
    topologyTool(ports.administration),
    ...updateTools(ports),
  ];
}
