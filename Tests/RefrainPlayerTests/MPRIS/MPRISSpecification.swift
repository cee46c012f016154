// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// The members of an interface: a line for each.
  struct InterfaceDescription: Equatable {
    var lines: Set<String> = []

    init(_ text: String) {
      lines = Set(
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
          .filter { !$0.isEmpty })
    }

    fileprivate init() {}

    /// The members of MPRIS 2.2, from the XML of its specification. Behind a property is how its
    /// changes are announced, unless that is the default (the D-Bus specification,
    /// EmitsChangedSignal).
    static let specification = [
      "org.mpris.MediaPlayer2": InterfaceDescription(
        """
        method Raise()
        method Quit()
        property CanQuit b read
        property Fullscreen b readwrite
        property CanSetFullscreen b read
        property CanRaise b read
        property HasTrackList b read
        property Identity s read
        property DesktopEntry s read
        property SupportedUriSchemes as read
        property SupportedMimeTypes as read
        """),
      "org.mpris.MediaPlayer2.Player": InterfaceDescription(
        """
        method Next()
        method Previous()
        method Pause()
        method PlayPause()
        method Stop()
        method Play()
        method Seek(in x Offset)
        method SetPosition(in o TrackId, in x Position)
        method OpenUri(in s Uri)
        signal Seeked(x Position)
        property PlaybackStatus s read
        property LoopStatus s readwrite
        property Rate d readwrite
        property Shuffle b readwrite
        property Metadata a{sv} read
        property Volume d readwrite
        property Position x read EmitsChangedSignal=false
        property MinimumRate d read
        property MaximumRate d read
        property CanGoNext b read
        property CanGoPrevious b read
        property CanPlay b read
        property CanPause b read
        property CanSeek b read
        property CanControl b read EmitsChangedSignal=false
        """),
      "org.mpris.MediaPlayer2.TrackList": InterfaceDescription(
        """
        method GetTracksMetadata(in ao TrackIds, out aa{sv} Metadata)
        method AddTrack(in s Uri, in o AfterTrack, in b SetAsCurrent)
        method RemoveTrack(in o TrackId)
        method GoTo(in o TrackId)
        signal TrackListReplaced(ao Tracks, o CurrentTrack)
        signal TrackAdded(a{sv} Metadata, o AfterTrack)
        signal TrackRemoved(o TrackId)
        signal TrackMetadataChanged(o TrackId, a{sv} Metadata)
        property Tracks ao read EmitsChangedSignal=invalidates
        property CanEditTracks b read
        """),
    ]

    /// Reads the XML of an introspection, one element a line or several.
    static func parse(_ xml: String) -> [String: InterfaceDescription] {
      var all: [String: InterfaceDescription] = [:]
      var (interface, kind, name, tail) = ("", "", "", "")
      var arguments: [String] = []
      for tag in xml.matches(of: /<(\/?)(\w+)([^>]*?)(\/?)>/) {
        let attributes = Dictionary(
          tag.3.matches(of: /(\w+)="([^"]*)"/).map { (String($0.1), String($0.2)) },
          uniquingKeysWith: { first, _ in first })
        let (isEnd, isEmpty) = (!tag.1.isEmpty, !tag.4.isEmpty)
        func value(_ name: String) -> String { attributes[name] ?? "" }
        switch String(tag.2) {
        case "interface" where !isEnd:
          interface = value("name")
          all[interface] = InterfaceDescription()
        case "method", "signal", "property":
          if !isEnd {
            (kind, name, arguments, tail) = (String(tag.2), value("name"), [], "")
            if kind == "property" { tail = " \(value("type")) \(value("access"))" }
          }
          guard isEnd || isEmpty else { break }
          let list = kind == "property" ? "" : "(\(arguments.joined(separator: ", ")))"
          all[interface]?.lines.insert("\(kind) \(name)\(list)\(tail)")
        case "arg":
          // Those of signals have no direction.
          let words = [kind == "signal" ? "" : value("direction"), value("type"), value("name")]
          arguments.append(words.filter { !$0.isEmpty }.joined(separator: " "))
        case "annotation" where value("name").hasSuffix(".EmitsChangedSignal"):
          if value("value") != "true" { tail += " EmitsChangedSignal=\(value("value"))" }
        default: break
        }
      }
      return all
    }
  }
#endif
