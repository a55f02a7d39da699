/** Clusters that configure, name or diagnose their own Matter node. */
const OF_OWN_NODE = [
  'AdministratorCommissioning',
  'BasicInformation',
  'BridgedDeviceBasicInformation',
  'Descriptor',
  'DiagnosticLogs',
  'EthernetNetworkDiagnostics',
  'FixedLabel',
  'GeneralCommissioning',
  'GeneralDiagnostics',
  'Groups',
  'IcdManagement',
  'Identify',
  'Label',
  'LocalizationConfiguration',
  'NetworkCommissioning',
  'OtaSoftwareUpdateProvider',
  'PowerSourceConfiguration',
  'PowerTopology',
  'SoftwareDiagnostics',
  'TimeFormatLocalization',
  'TimeSynchronization',
  'TlsCertificateManagement',
  'TlsClientManagement',
  'UnitLocalization',
  'UserLabel',
  'WiFiNetworkDiagnostics',
  'WiFiNetworkManagement',
];
/** Clusters whose attributes describe other devices: bound devices, and devices of the same group, fabric or network. */
const OF_OTHER_DEVICES = [
  'AccessControl',
  'Binding',
  'CommissionerControl',
  'EcosystemInformation',
  'GroupKeyManagement',
  'Groupcast',
  'JointFabricAdministrator',
  'JointFabricDatastore',
  'OperationalCredentials',
  'OtaSoftwareUpdateRequestor',
  'ThreadBorderRouterManagement',
  'ThreadNetworkDiagnostics',
  'ThreadNetworkDirectory',
];
const ADMINISTRATIVE: ReadonlySet<string> = new Set([...OF_OWN_NODE, ...OF_OTHER_DEVICES]);

/**
 * Returns whether a cluster administers its Matter node. Such a cluster gets no device tools. Only the hub's own tools use it, and they
 * need the permission `admin:device:<id>`.
 */
export function isAdministrative(cluster: string): boolean {
  return ADMINISTRATIVE.has(cluster);
}

/** Returns whether a cluster describes other devices. Reading it needs `admin:device:<id>` instead of `device:read:<id>`. */
export function describesOtherDevices(cluster: string): boolean {
  return OF_OTHER_DEVICES.includes(cluster);
}
