/** The login of the service under test: it has the privileges of production, and no others. */
export const SERVICE_LOGIN = { name: 'test_service', password: 'test_service' };
