// snippet.hide
// The examples of the cache's guides: Getting started, and Recipes.
// snippet.show
// Sources/Fetch/main.swift
import Foundation
import Refrain

let url = URL(string: "https://example.org/song.flac")!
let cache = try MediaCache()

let reader = try await cache.open(url)
let opening = try await reader.bytes(in: 0..<65_536)
print(opening.count, "bytes, of these from disk:", reader.statistics.bytesFromDisk)

await cache.close()
// snippet.hide
/// What decodes media.
struct Decoder {
  mutating func append(_ bytes: MediaReader.Chunks.Element) {}
}

/// A bar that shows what is stored.
struct Bar {
  var value = 0.0
}

/// An account of the app.
struct Account {
  var id = ""
}

func freshToken() async throws -> String { "" }

func readInOrder(_ reader: MediaReader, decoder: inout Decoder) async throws {
  // snippet.show
  for try await chunk in reader.chunks() { decoder.append(chunk) }
  // snippet.hide
}

func prefetch(_ url: URL, into cache: MediaCache) async throws {
  // snippet.show
  try await cache.prefetch(url) { progress in
    print(progress.storedBytes, "of", progress.totalBytes ?? -1)
  }
  if let file = try await cache.completeFile(for: url) {
    print("Any program can open", file.path(percentEncoded: false))
  }
  // snippet.hide
}

func keep(_ url: URL, in cache: MediaCache) async throws {
  // snippet.show
  try await cache.pin(url)  // refused if it does not fit beside other pins
  try await cache.prefetch(url)
  try await cache.unpin(url)  // may be evicted from now on
  // snippet.hide
}

func change(_ cache: MediaCache) async {
  // snippet.show
  cache.isOffline = true  // no requests; stored bytes still play
  cache.network.prefetch.allowsExpensive = false  // no prefetching over cellular (Apple)
  cache.originRate = 1 << 20  // at most 1 MiB per second from all origins
  await cache.setLimit(500 << 20)  // evicts entries until the usage is below 500 MiB
  // snippet.hide
}

func show(_ url: URL, of cache: MediaCache, in bar: inout Bar) async throws {
  // snippet.show
  for entry in try await cache.entries() {
    print(entry.url, entry.cachedBytes, entry.isComplete ? "complete" : "partial")
  }
  let progress = try await cache.progress(of: url)
  print(progress.fraction ?? 0)

  for await progress in cache.progressUpdates(of: url) { bar.value = progress.fraction ?? 0 }

  try await cache.remove(url)
  // snippet.hide
}

func report(
  _ reader: MediaReader, of url: URL, cache: MediaCache, newReader: inout MediaReader,
  label: inout String
) async throws {
  // snippet.show
  do {
    _ = try await reader.bytes(in: 0..<65_536)
  } catch let error as MediaCacheError where error.code == .offline {
    label = "Available once you are online."
  } catch let error as MediaCacheError where error.code == .resourceChanged {
    newReader = try await cache.open(url)  // the origin has another version now
  } catch let error as MediaCacheError {
    label = "\(error.reason) \(error.remedy)"
  }
  // snippet.hide
}

func authorized() -> MediaCache.Configuration {
  // snippet.show
  var configuration = MediaCache.Configuration()
  configuration.authorize = { resource, status in
    var renewed = resource
    renewed.headers["Authorization"] = "Bearer " + (try await freshToken())
    return renewed
  }
  // snippet.hide
  return configuration
}

func withPassword(_ configuration: inout MediaCache.Configuration) {
  // snippet.show
  configuration.authorize = { resource, status in
    var renewed = resource
    renewed.url = URL(string: "http://me:secret@camera.local/recording.mp4") ?? resource.url
    return renewed
  }
  // snippet.hide
}

func separatingAccounts(_ account: Account, _ configuration: inout MediaCache.Configuration) {
  // snippet.show
  configuration.partition = account.id
  // snippet.hide
}

func ignoringParameters(_ configuration: inout MediaCache.Configuration) {
  // snippet.show
  configuration.cacheKey =
    CacheKeyRule(ignoring: ["CMCD", "X-Amz-*"])
    .ignoring(["token", "expires"], on: "*.example.com")
    .key(for:)
  // snippet.hide
}

#if os(Linux)
  func throughProxy() -> MediaCache.Configuration {
    // snippet.show
    var settings = CurlTransport.Settings(environment: ["https_proxy": "socks5h://127.0.0.1:1080"])
    settings.certificateFile = "/etc/example/authority.pem"
    var configuration = MediaCache.Configuration()
    configuration.transport = CurlTransport(settings)
    // snippet.hide
    return configuration
  }
#endif

func listen(
  to url: URL, cache: MediaCache, offsetThatIsHeard: Int64, label: inout String
) async throws {
  // snippet.show
  let radio = Resource(url: url, headers: ["Icy-MetaData": "1"])
  let reader = try await cache.open(radio)

  for await event in cache.events(includingTraffic: false) {
    guard case .streamTitle(cache.key(for: radio), _) = event else { continue }
    let now = reader.streamTitle(at: offsetThatIsHeard)  // the event precedes the sound
    label = now?.title ?? now?.station.name ?? ""
  }
  // snippet.hide
}

func fillWhole(_ song: Resource, cache: MediaCache) async throws {
  // snippet.show
  let reader = try await cache.open(song, fill: .wholeResource)
  // snippet.hide
  reader.cancel()
}
