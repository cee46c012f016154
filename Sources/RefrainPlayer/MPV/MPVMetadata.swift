// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV

  extension MediaMetadata {
    /// Creates metadata from mpv's tags, whose names are those of the media's format in upper or
    /// lower case.
    init(tags: [String: String]) {
      let values = Dictionary(
        tags.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
      func text(_ names: String...) -> String? {
        names.lazy.compactMap { values[$0] }.first { !$0.isEmpty }
      }
      self.init(
        title: text("title"), artist: text("artist", "album_artist", "albumartist"),
        album: text("album"), streamTitle: text("icy-title"), station: text("icy-name"))
    }
  }

  extension mpv_node {
    /// The texts of a map by name; empty if this is no map.
    var texts: [String: String] {
      guard format == MPV_FORMAT_NODE_MAP, let list = u.list, let keys = list.pointee.keys,
        let values = list.pointee.values
      else { return [:] }
      var texts: [String: String] = [:]
      for index in 0..<Int(list.pointee.num) {
        let value = values[index]
        guard value.format == MPV_FORMAT_STRING, let key = keys[index],
          let text = value.u.string
        else { continue }
        texts[String(cString: key)] = String(cString: text)
      }
      return texts
    }
  }
#endif
