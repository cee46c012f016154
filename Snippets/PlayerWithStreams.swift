// snippet.hide
// The example of streams in the player's guide.
import Foundation
import Refrain
import RefrainPlayer
// snippet.show
import RefrainPlayerStreams
import RefrainProxy

// snippet.hide
let cache = try MediaCache()
// snippet.show
let proxy = try CacheProxy(cache: cache)  // on 127.0.0.1, with a random token
let serving = Task { try await proxy.run() }  // cancel it after the player was closed
var configuration = Player.Configuration()
configuration.streams = PlayerStreams { stream in
  try await proxy.waitUntilListening()  // also after iOS suspended the app
  return try proxy.url(for: stream)
}
let player = try await Player(cache: cache, configuration: configuration)
player.play(Media(URL(string: "https://example.org/show/master.m3u8")!))
