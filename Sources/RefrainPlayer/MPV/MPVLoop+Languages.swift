// SPDX-License-Identifier: MIT
#if os(Linux)
  extension MPVLoop {
    /// Sets the languages of the tracks that libmpv selects by itself.
    func prefer(_ languages: TrackLanguages) {
      shown.languages = languages
      for (option, language) in [("alang", languages.audio), ("slang", languages.subtitle)] {
        set(option, TrackLanguages.codes(of: language ?? "").joined(separator: ","))
      }
    }
  }
#endif
