// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

/// Large playlists, built to make naive parsing take for ever or exhaust memory.
@Suite(.timeLimit(.minutes(3))) struct LargePlaylistTests {
  private func filled(_ head: String, _ repeated: String, _ tail: String = "") -> String {
    let rest = (1 << 19) - head.utf8.count - tail.utf8.count
    return head + String(repeating: repeated, count: rest / repeated.utf8.count) + tail
  }

  @Test(arguments: [
    ("", "\n"), ("", "a"), ("#EXTINF:", "1"), ("#EXTINF:1 ", "a=\" "), ("#EXTINF:1 ", "a "),
    ("#EXTINF:1,", "- "), ("#", "a:"), ("#EXTIMG:", "/"), ("", "\\"), ("", "../"), ("", "%"),
  ]) func `A very long line is read`(_ head: String, _ repeated: String) throws {
    let playlist = try Playlist.reading(filled("#EXTM3U\n" + head, repeated))
    #expect(playlist.entries.count <= 1)
  }

  @Test func `A long artist for all entries is shortened in each entry`() throws {
    let long = String(repeating: "a - ", count: 1 << 20)
    let playlist = try Playlist.reading(
      "#EXTM3U\n#EXTART:\(long)\n" + String(repeating: "#EXTINF:1,a\nb\n", count: 20_000))
    #expect(playlist.entries.count == 20_000)
    #expect(playlist.entries.allSatisfy { ($0.artist?.count ?? 0) <= PlaylistText.shownLimit })
  }

  @Test func `A very long line in a PLS section is read`() throws {
    #expect(try Playlist.reading(filled("[playlist]\nFile1=", "=")).entries.count == 1)
  }
}
