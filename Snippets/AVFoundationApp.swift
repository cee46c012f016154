// snippet.hide
// The examples of the guides to AVFoundation: Getting started, and In an app. On Linux, the tests'
// stand-in takes AVFoundation's place, and what needs SwiftUI is left out.
#if canImport(AVFoundation)
  import AVKit
  import SwiftUI
  // snippet.show
  import AVFoundation
// snippet.hide
#else
  import AVFoundationStandIn
  import Foundation
#endif
import RefrainProxy
// snippet.show
import Refrain
import RefrainAVFoundation

@MainActor final class Playback {
  let cache: MediaCache
  let player = AVPlayer()

  init() throws {
    cache = try MediaCache()  // one for the app
    player.automaticallyWaitsToMinimizeStalling = false  // for sound; see <doc:InAnApp>
  }

  func play(_ url: URL) {
    player.replaceCurrentItem(with: AVPlayerItem(asset: cache.asset(for: url)))
    player.play()
  }
}

// snippet.hide
/// A bar that shows what is stored.
struct Bar {
  var fraction = 0.0
  var ranges: [CMTimeRange] = []
}

func token(_ token: String, url: URL, cache: MediaCache) {
  // snippet.show
  let song = Resource(url: url, headers: ["Authorization": "Bearer \(token)"])
  let asset = cache.asset(for: song)
  // snippet.hide
  _ = asset
}

func fill(_ song: Resource, next: Resource, cache: MediaCache) {
  // snippet.show
  let asset = cache.asset(for: song, fill: .wholeResource)
  Task { try await cache.prefetch(next) }
  // snippet.hide
  _ = asset
}

func show(_ asset: AVURLAsset, bar: inout Bar) async throws {
  // snippet.show
  for await progress in asset.cacheProgress {
    bar.fraction = progress.fraction ?? 0
  }
  let ranges = try await asset.cachedTimeRanges() ?? []  // of type CMTimeRange
  // snippet.hide
  _ = ranges
}

func goOffline(_ cache: MediaCache) {
  // snippet.show
  cache.isOffline = true
  // snippet.hide
}

// snippet.show
func cacheError(under error: (any Error)?) -> MediaCacheError? {
  var next = error
  for _ in 0..<8 {  // the chain may be a ring
    guard let error = next else { return nil }
    if let found = error as? MediaCacheError { return found }
    next = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error
  }
  return nil
}

// snippet.hide
@MainActor func report(_ item: AVPlayerItem, label: inout String) {
  // snippet.show
  if item.status == .failed, let error = cacheError(under: item.error) {
    label = "\(error.reason) \(error.remedy)"
  }
  // snippet.hide
}

@MainActor func play(_ url: URL, cache: MediaCache) {
  // snippet.show
  let player = AVPlayer(playerItem: AVPlayerItem(asset: cache.asset(for: url)))
  player.automaticallyWaitsToMinimizeStalling = false
  player.play()
  // snippet.hide
}

func keyed(_ url: URL, token: String, cache: MediaCache) {
  // snippet.show
  var resource = Resource(url: url, headers: ["Authorization": "Bearer \(token)"])
  resource.key = CacheKey(rawValue: "track-4711")  // if the URL changes and the bytes do not
  let asset = cache.asset(for: resource)
  // snippet.hide
  _ = asset
}

@MainActor func queue(_ urls: [URL], cache: MediaCache) {
  // snippet.show
  let assets = urls.map { cache.asset(for: $0) }
  let player = AVQueuePlayer(items: assets.map { AVPlayerItem(asset: $0) })
  Task { try await cache.prefetch(urls[1]) }  // yields to playback
  // snippet.hide
  player.play()
}

#if canImport(SwiftUI)
  // snippet.show
  struct Film: View {
    let cache: MediaCache
    let url: URL
    @State private var player: AVPlayer?

    var body: some View {
      VideoPlayer(player: player)
        .task(id: url) {
          player = AVPlayer(playerItem: AVPlayerItem(asset: cache.asset(for: url)))
        }
    }
  }
// snippet.hide
#endif

func scrub(_ asset: AVURLAsset, duration: CMTime, bar: inout Bar) async {
  // snippet.show
  for await progress in asset.cacheProgress {
    bar.fraction = progress.fraction ?? 0
    bar.ranges = progress.timeRanges(of: duration)
  }
  // snippet.hide
}

@MainActor func stream(
  _ stream: URL, token: String, cache: MediaCache, player: AVPlayer
) async throws {
  // snippet.show
  let proxy = try CacheProxy(cache: cache)  // on 127.0.0.1, with a random token
  let serving = Task { try await proxy.run() }  // cancel it when no player needs it
  try await proxy.waitUntilListening()
  let url = try proxy.url(for: Resource(url: stream, headers: ["Authorization": "Bearer \(token)"]))
  player.replaceCurrentItem(with: AVPlayerItem(url: url))
  // snippet.hide
  serving.cancel()
}

func exact(_ url: URL, cache: MediaCache) {
  // snippet.show
  let asset = cache.asset(for: url, options: [AVURLAssetPreferPreciseDurationAndTimingKey: true])
  // snippet.hide
  _ = asset
}
