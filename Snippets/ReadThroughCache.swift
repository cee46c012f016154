import Foundation
import Refrain

// snippet.hide
// The first example of the README.
let directory = URL.temporaryDirectory.appending(path: "refrain-snippet")
let url = URL(filePath: "/dev/null")

// snippet.show
var configuration = MediaCache.Configuration()
configuration.limit = 500 << 20
let cache = try MediaCache(directory: directory, configuration: configuration)
let song = Resource(url: url, headers: ["Authorization": "Bearer abc"])

let reader = try await cache.open(song)
let head = try await reader.bytes(in: 0..<65_536)  // fetched once, then from disk

try await cache.prefetch(song) { progress in
  print(progress.storedBytes, "of", progress.totalBytes ?? 0)
}
let file = try await cache.completeFile(for: song)  // nil while bytes are missing
await cache.close()
