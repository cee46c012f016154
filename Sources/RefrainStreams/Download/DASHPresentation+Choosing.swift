// SPDX-License-Identifier: MIT
import Refrain

extension DASHPresentation {
  /// A track of a period, as a choice sees it.
  package struct Track: Sendable, StreamTrack {
    package var content: AdaptationSet
    /// Whether it plays unless a person chooses another.
    package var isDefault: Bool

    var language: String? { content.language }
    var isAutoselect: Bool { true }
    package var rendition: StreamRendition { StreamRendition(content, isDefault: isDefault) }
  }

  /// The chosen tracks of a period.
  struct Choice: Sendable {
    var period: Period
    /// Nil if the period has neither pictures nor sound.
    var variant: Representation?
    var tracks: [Track] = []
    /// Without repetitions.
    var representations: [Representation] = []
  }

  /// The longest period, whose qualities stand for those of the stream: short ones are often
  /// advertisements.
  package var mainPeriod: Period? {
    periods.max { ($0.duration ?? 0) < ($1.duration ?? 0) }
  }

  /// Returns the choice for each period. A height or a language that the main period has may be
  /// missing in others, where a default takes its place.
  ///
  /// - Throws: `MediaCacheError`, if the main period has no such quality or language.
  func choose(_ choice: StreamChoice) throws(MediaCacheError) -> [Choice] {
    if let mainPeriod { _ = try mainPeriod.choose(choice) }
    return try periods.map { period throws(MediaCacheError) in
      try period.choose(period.possible(choice))
    }
  }
}

extension DASHPresentation.Period {
  /// The pictures among which a quality is chosen; of a period without pictures its sound.
  package var variants: [DASHPresentation.Representation] {
    let videos = sets(of: .video)
    let candidates = videos.isEmpty ? audio.filter(\.isDefault).map(\.content) : videos
    return candidates.flatMap(\.choices)
  }

  /// The pictures among which a quality is chosen; none if the period has sound alone.
  package var pictures: [DASHPresentation.Representation] {
    sets(of: .video).flatMap(\.choices)
  }

  package var audio: [DASHPresentation.Track] { tracks(.audio) }

  package var subtitles: [DASHPresentation.Track] { tracks(.text) }

  func choose(_ choice: StreamChoice) throws(MediaCacheError) -> DASHPresentation.Choice {
    var chosen = DASHPresentation.Choice(period: self)
    let hasPictures = !sets(of: .video).isEmpty
    let variants = variants
    if !variants.isEmpty {
      let variant = try choice.quality.choose(among: variants)
      chosen.variant = variant
      if hasPictures { chosen.representations.append(variant) }
    }
    let sounds = try choice.audio.choose(among: audio, needsOne: true, kind: "audio")
    let texts = try choice.subtitles.choose(among: subtitles, needsOne: false, kind: "subtitles")
    chosen.tracks = sounds + texts
    for track in chosen.tracks {
      let isBeside = hasPictures || track.content.kind == .text
      let quality = isBeside ? choice.quality.ofSound : choice.quality
      chosen.representations.append(try quality.choose(among: track.content.choices))
    }
    return chosen
  }

  /// Returns the choice with defaults for the quality and the languages that the period lacks.
  fileprivate func possible(_ choice: StreamChoice) -> StreamChoice {
    var possible = choice
    let candidates = sets(of: .video).isEmpty ? audio.map(\.content.choices) : [variants]
    if candidates.contains(where: { (try? choice.quality.choose(among: $0)) == nil }) {
      possible.quality = StreamChoice().quality
    }
    possible.audio = choice.audio.present(among: audio) ?? StreamChoice().audio
    possible.subtitles = choice.subtitles.present(among: subtitles) ?? StreamChoice().subtitles
    return possible
  }

  private func tracks(_ kind: DASHPresentation.MediaKind) -> [DASHPresentation.Track] {
    let sets = sets(of: kind)
    // Subtitles are a default only where the MPD says so; of sounds there is always one.
    let main = sets.indices.filter { sets[$0].roles.contains("main") }
    let candidates = kind == .audio && main.isEmpty ? Array(sets.indices) : main
    let first = candidates.max { one, other in
      (sets[one].priority, -one) < (sets[other].priority, -other)
    }
    return sets.indices.map { .init(content: sets[$0], isDefault: $0 == first) }
  }

  /// Returns the sets that can be chosen. Pictures of other cameras or for fast forward do not
  /// stand for the main ones.
  private func sets(of kind: DASHPresentation.MediaKind) -> [DASHPresentation.AdaptationSet] {
    let all = sets.filter { $0.kind == kind && !$0.isTrickPlay && !$0.choices.isEmpty }
    guard kind == .video else { return all }
    let main = all.filter { $0.roles.isEmpty || $0.roles.contains("main") }
    return main.isEmpty ? all : main
  }
}

extension DASHPresentation.AdaptationSet {
  /// The Representations that play by themselves.
  fileprivate var choices: [DASHPresentation.Representation] {
    representations.filter { !$0.isDependent }
  }
}

extension StreamChoice.Quality {
  /// The quality of a track beside pictures: its share of a bit rate is small.
  fileprivate var ofSound: StreamChoice.Quality { self == .worst ? .worst : .best }
}

extension StreamChoice.Languages {
  /// Returns the choice without the languages that no track has; nil if none remain.
  fileprivate func present(among tracks: [DASHPresentation.Track]) -> StreamChoice.Languages? {
    guard case .some(let wanted) = self else { return self }
    let present = wanted.filter { language in tracks.contains { $0.isIn(language) } }
    return present.isEmpty ? nil : .some(present)
  }
}
