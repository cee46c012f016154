// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV

  extension MediaTracks {
    /// Creates the tracks from mpv's property `track-list`.
    init(_ list: mpv_node) {
      self.init()
      for node in list.elements {
        let values = node.members
        guard let track = MediaTrack(values) else { continue }
        all.append(track)
        // A complex filter may select several of a kind, of which only one counts.
        if values["selected"]?.flag == true, selected(track.kind) == nil {
          selected.insert(track.id)
        }
      }
    }
  }

  extension MediaTracks {
    /// Whether libmpv plays on without a track of a kind. It needs sound or moving pictures.
    func plays(without kind: MediaTrack.Kind) -> Bool {
      switch kind {
      case .subtitle: true
      case .audio: selected(.video).map { !$0.isCover } ?? false
      case .video: selected(.audio) != nil
      }
    }
  }

  extension MediaTrack {
    fileprivate init?(_ values: [String: mpv_node]) {
      guard let type = values["type"]?.text, let kind = Kind(mpv: type),
        let number = values["id"]?.integer
      else { return nil }
      self.init(
        ID(kind, Int(number)), title: values["title"]?.text, language: values["lang"]?.text,
        codec: values["codec"]?.text, isDefault: values["default"]?.flag == true,
        isForced: values["forced"]?.flag == true, isExternal: values["external"]?.flag == true,
        isCover: values["albumart"]?.flag == true || values["image"]?.flag == true)
    }
  }

  extension MediaTrack.Kind {
    fileprivate init?(mpv type: String) {
      switch type {
      case "video": self = .video
      case "audio": self = .audio
      case "sub": self = .subtitle
      default: return nil
      }
    }

    /// The property that selects a track of the kind, by the name under which libmpv shows a change
    /// as a sentence: `sid` would appear as such.
    var property: String {
      switch self {
      case .video: "video"
      case .audio: "audio"
      case .subtitle: "sub"
      }
    }
  }

  extension mpv_node {
    /// The addresses of the external tracks of mpv's property `track-list`.
    var externalFiles: [MediaTrack.ID: String] {
      elements.reduce(into: [:]) { files, node in
        let values = node.members
        guard let file = values["external-filename"]?.text, let track = MediaTrack(values) else {
          return
        }
        files[track.id] = file
      }
    }
  }

  /// The values of nodes; nil, or empty, if a node is of another format.
  extension mpv_node {
    var elements: [mpv_node] {
      guard format == MPV_FORMAT_NODE_ARRAY, let list = u.list, let values = list.pointee.values
      else { return [] }
      return (0..<Int(list.pointee.num)).map { values[$0] }
    }

    var members: [String: mpv_node] {
      guard format == MPV_FORMAT_NODE_MAP, let list = u.list, let keys = list.pointee.keys,
        let values = list.pointee.values
      else { return [:] }
      var members: [String: mpv_node] = [:]
      for index in 0..<Int(list.pointee.num) {
        guard let key = keys[index] else { continue }
        members[String(cString: key)] = values[index]
      }
      return members
    }

    fileprivate var text: String? {
      format == MPV_FORMAT_STRING ? u.string.map { String(cString: $0) } : nil
    }

    fileprivate var integer: Int64? { format == MPV_FORMAT_INT64 ? u.int64 : nil }

    var number: Double? { format == MPV_FORMAT_DOUBLE ? u.double_ : nil }

    fileprivate var flag: Bool? { format == MPV_FORMAT_FLAG ? u.flag != 0 : nil }
  }
#endif
