// Nothing is asked of another host: without `validatorUrl: null` the page would send the document to one.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
});
