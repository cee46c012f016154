// snippet.hide
// The examples of the proxy's guides.
// snippet.show
// Sources/Serve/main.swift
import Foundation
import Refrain
import RefrainProxy

let cache = try MediaCache()
let proxy = try CacheProxy(cache: cache)

let running = Task { try await proxy.run() }
try await proxy.waitUntilListening()
print(try proxy.url(for: URL(string: "https://example.org/song.flac")!))

try await running.value

// snippet.hide
func keepURLs(cache: MediaCache, token: String) throws {
  // snippet.show
  var configuration = CacheProxy.Configuration()
  configuration.port = 8573
  configuration.token = token  // at least 16 characters, random, kept by the program
  let proxy = try CacheProxy(cache: cache, configuration: configuration)
  // snippet.hide
  _ = proxy
}

func serveOneOrigin(directory: URL) throws {
  // snippet.show
  var shared = MediaCache.Configuration()
  shared.isShared = true
  shared.retry.firstAttempts = 1  // an error of the origin is the response: one request
  let cache = try MediaCache(directory: directory, configuration: shared)

  var configuration = CacheProxy.Configuration()
  configuration.origin = URL(string: "https://media.example.org")
  configuration.address = "0.0.0.0"
  configuration.port = 8080
  configuration.names = ["media.example.net"]  // the name of the proxy itself, as clients write it
  let proxy = try CacheProxy(cache: cache, configuration: configuration)
  // snippet.hide
  _ = proxy
}

func log(_ configuration: inout CacheProxy.Configuration) {
  // snippet.show
  configuration.log = { request in
    print(request.method, request.url, request.status, request.source.rawValue, request.bytesSent)
  }
  // snippet.hide
}

// snippet.show
struct Favourites: ProxyHandler {
  let list: @Sendable () async -> [URL]

  func response(to request: ProxyRequest) async throws -> ProxyResponse? {
    guard request.target == "/favourites.m3u" else { return nil }
    let lines = await list().map(\.absoluteString).joined(separator: "\n")
    return ProxyResponse(
      fields: ["Content-Type": "audio/x-mpegurl"], body: Data("#EXTM3U\n\(lines)\n".utf8))
  }
}

// snippet.hide
func handle(
  _ configuration: inout CacheProxy.Configuration, favourites: @escaping @Sendable () async -> [URL]
) {
  // snippet.show
  configuration.handlers = [Favourites(list: favourites)]
  // snippet.hide
}

func stop(_ proxy: CacheProxy, cache: MediaCache) async throws {
  // snippet.show
  do {
    try await proxy.waitUntilListening()
  } catch let error as CacheProxyError where error.code == .addressInUse {
    print("\(error.reason) \(error.remedy)")
  }

  await proxy.stop()  // gives running responses a few seconds to end
  await cache.close()
  // snippet.hide
}
