// snippet.hide
// The examples of the guide of RefrainServer.
import Foundation
import Refrain
import RefrainProxy
import RefrainServer

func serve(cache: MediaCache) async throws {
  // snippet.show
  var configuration = ProxyServer.Configuration()
  configuration.proxy.origin = URL(string: "https://media.example.org")
  configuration.proxy.address = "0.0.0.0"
  configuration.proxy.port = 8080
  configuration.proxy.nodeName = "node-1"
  configuration.servesPage = true
  configuration.adminAddress = ListeningAddress(host: "127.0.0.1", port: 8574)
  // For a balancer, which does not reach the operator's listener.
  configuration.healthPath = "/health"
  configuration.clientLimits.connections = 100
  let server = try ProxyServer(cache: cache, configuration: configuration)

  let running = Task { try await server.run() }
  try await server.proxy.waitUntilListening()

  // snippet.hide
  // snippet.show
  server.proxy.beginDraining()  // balancers notice, and new clients go elsewhere
  try await Task.sleep(for: .seconds(10))
  await server.proxy.stop()
  try await running.value
  // snippet.hide
}
