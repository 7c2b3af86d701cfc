/** The login of the service under test: it has exactly the privileges of production. */
export const SERVICE_LOGIN = { name: 'test_service', password: 'test_service' };
