// snippet.hide
// The examples of the player's guides: Getting started, RefrainPlayer, and In the background.
#if canImport(SwiftUI)
  import SwiftUI
#endif
// snippet.show
// Sources/Play/main.swift
import Foundation
import Refrain
import RefrainPlayer

let cache = try MediaCache()  // one for the app
let player = try await Player(cache: cache)  // AVPlayer on Apple's platforms, libmpv on Linux
let events = player.events()

player.play(Media(URL(string: "https://example.org/song.flac")!))
for await event in events {
  switch event {
  case .started(let item, after: let delay): print(item.media.url, "is audible after", delay)
  case .failed(let item, let error): print(item.media.url, error)
  case .status(.ended), .status(.failed): await player.close()  // ends the events, too
  default: break
  }
}
await cache.close()

// snippet.hide
@MainActor func queue(
  first: URL, second: URL, third: URL, fourth: URL, token: String, player: Player
) {
  // snippet.show
  let signed = Media(second, headers: ["Authorization": "Bearer \(token)"])
  player.play([Media(first, title: "One"), signed])
  player.enqueue(Media(third))  // at the end
  player.insertNext(Media(fourth))  // after the current item
  player.next()
  if let item = player.queue.items.last { player.jump(to: item.id) }
  // snippet.hide
}

@MainActor func playlist(_ playlistURL: URL, cache: MediaCache, player: Player) async throws {
  // snippet.show
  let reader = try await cache.open(playlistURL)
  let information = try await reader.contentInformation()
  let bytes = try await reader.bytes(in: 0..<(8 << 20))
  let list = try Playlist(bytes, from: information.finalURL, mimeType: information.mimeType)
  player.play(list.entries)
  // snippet.hide
}

func readLists(_ configuration: inout Player.Configuration, cache: MediaCache) {
  // snippet.show
  configuration.readList = { media, _ in
    guard let resource = media.resource else { return nil }
    let reader = try await cache.open(resource, fill: .onDemand)
    defer { reader.cancel() }
    let information = try await reader.contentInformation()
    let bytes = try await reader.bytes(in: 0..<(8 << 20))
    let list = try? Playlist(bytes, from: information.finalURL, mimeType: information.mimeType)
    return list?.entries  // nil: the item fails
  }
  // snippet.hide
}

#if canImport(SwiftUI)
  // snippet.show
  struct PlayerView: View {
    @Bindable var player: Player

    var body: some View {
      Text(player.item?.media.title ?? player.metadata.title ?? "")
      Button(player.wantsToPlay ? "Pause" : "Play") { player.togglePlayback() }
      Slider(value: $player.volume, in: 0...1)
      Toggle("Shuffle", isOn: $player.isShuffled)
      if case .failed(let error) = player.status { Text("\(error.reason) \(error.remedy)") }
    }
  }
// snippet.hide
#endif

@MainActor func change(_ player: Player, cache: MediaCache) {
  // snippet.show
  player.rate = 1.5  // the pitch is kept
  player.repeatMode = .all
  player.isMuted = true
  player.sleepTimer = .endOfItem
  player.sleep(after: .seconds(30 * 60))  // replaces the timer before
  cache.isOffline = true  // stored media plays, without a request
  // snippet.hide
}

@MainActor func restart(_ player: Player) throws {
  // snippet.show
  let data = try JSONEncoder().encode(player.session)
  // … after the restart
  player.restore(try JSONDecoder().decode(PlayerSession.self, from: data))
  player.resume()
  // snippet.hide
}

@MainActor func twoItems(first: URL, second: URL) async throws {
  // snippet.show
  let player = try await Player(cache: MediaCache())
  player.play([Media(first), Media(second)])
  // snippet.hide
}

@MainActor func engine(url: URL, next: URL) throws {
  // snippet.show
  let engine = AVPlayerEngine(cache: try MediaCache())
  engine.report = { event in print(event) }
  engine.load(EngineItem(id: .init(rawValue: 1), media: Media(url)), at: .zero, isPaused: false)
  engine.follow(with: EngineItem(id: .init(rawValue: 2), media: Media(next)))  // without a gap
  // snippet.hide
}

func rewind(_ configuration: inout Player.Configuration) {
  // snippet.show
  configuration.rewind = 256 << 20  // bytes; an hour of sound with 128 kbit/s takes 130 MiB
  // snippet.hide
}

func resumption(cache: MediaCache) async {
  // snippet.show
  var configuration = Player.Configuration()
  configuration.resumption = Resumption(await PlaybackPositions.open(for: cache))
  // snippet.hide
}

#if os(Linux)
  @MainActor func desktop(_ player: Player, quit: @escaping @MainActor () -> Void) async {
    // snippet.show
    let mpris = MPRIS(MPRIS.Configuration("my-player", identity: "My Player"))
    mpris.onQuit = { quit() }  // without it, clients cannot end the app
    mpris.onOpen = { uri in URL(string: uri).map { [Media($0)] } ?? [] }
    mpris.follow(player)
    await mpris.close()  // at the end: frees the name on the bus
    // snippet.hide
  }
#endif

@MainActor func ownSession(cache: MediaCache) {
  // snippet.show
  let engine = AVPlayerEngine(cache: cache, audioSession: .app)
  // snippet.hide
  engine.play()
}

@MainActor func lockScreen(_ player: Player) {
  // snippet.show
  let nowPlaying = NowPlaying(skip: .seconds(15))
  nowPlaying.follow(player)
  // snippet.hide
}

@MainActor func lockScreen(_ engine: AVPlayerEngine, nowPlaying: NowPlaying) {
  // snippet.show
  nowPlaying.onCommand = { command in
    switch command {
    case .play: engine.play()
    case .pause: engine.pause()
    default: break  // …
    }
  }
  nowPlaying.update(NowPlayingInfo(title: "Refrain", duration: .seconds(180), isPlaying: true))
  // snippet.hide
}
